"""Byte-level ids and offsets against Hugging Face's `tokenizers` on real text."""

import functools
import random

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from tests.golden.make_byte_pair_golden import TEXTS
from tests.parity.lines import differing, real_lines
from tests.paths import DATA

FOLDER = DATA / "vocabularies" / "roberta-base"
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(
        not (FOLDER / "merges.txt").is_file(),
        reason=f"{FOLDER} has no merges.txt; KERAS_BERT_LITE_DATA names the data",
    ),
]
SPECIAL_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
WORDS = """
    ' 's 'S 'll 're 've 'd 'm 't s t 1 23 \u0661 ½ a the The é 日本 😀 \u0301 ! ... -
    _ = Ġ \U000f0000 \U00100000 \U0010fffd \ue000 \ufffd \u200d ß ## \u0378 <mask> <s>
"""
PARTS = WORDS.split()
PARTS += [" ", "  ", " the", "\n", "\t", "\r\n", "\u3000", "\xa0", "\u2028", "\x85"]
PARTS += ["\0", "\x01", "\x02", "\x1c", "\x7f", " <mask>", "\n<mask>", "</s>"]


@functools.cache
def ours(**changes):
    return BytePairTokenizer(FOLDER / "vocab.json", FOLDER / "merges.txt", **changes)


def theirs(add_prefix_space=False, trim_offsets=True, special_tokens_in_text=False):
    tokenizers = pytest.importorskip("tokenizers")
    files = str(FOLDER / "vocab.json"), str(FOLDER / "merges.txt")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*files))
    switch = {"add_prefix_space": add_prefix_space}
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(**switch)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=trim_offsets, **switch
    )
    tokenizer.add_special_tokens(
        [
            tokenizers.AddedToken(x, normalized=False, lstrip=x == "<mask>")
            for x in SPECIAL_TOKENS
        ]
    )
    tokenizer.encode_special_tokens = not special_tokens_in_text
    return tokenizer


def sst_lines():
    lines = (DATA / "glue" / "SST-2" / "train.tsv").read_text(encoding="utf-8")
    return lines.split("\n")[1:]


def every_character():
    code_points = (*range(0xD800), *range(0xE000, 0x110000))
    return [f"go{chr(c)}ing" for c in code_points]


def random_strings(count=20_000, seed=0):
    rng = random.Random(seed)
    return ["".join(rng.choices(PARTS, k=rng.randrange(25))) for _ in range(count)]


def long_words():
    letters = random.Random(0).choices("abcdefghij", k=30_000)
    return ["".join(letters), *(part * 4_000 for part in PARTS)]


@pytest.mark.parametrize(
    "texts", [real_lines, sst_lines, every_character, random_strings, long_words]
)
def test_ids_and_offsets(texts):
    everything = texts()
    for start in range(0, len(everything), 100_000):
        batch = everything[start : start + 100_000]
        encodings = theirs().encode_batch(batch, add_special_tokens=False)
        assert differing(ours(), encodings, batch) == []


@pytest.mark.parametrize("add_prefix_space", [False, True])
@pytest.mark.parametrize("trim_offsets", [True, False])
@pytest.mark.parametrize("special_tokens_in_text", [False, True])
def test_switches(add_prefix_space, trim_offsets, special_tokens_in_text):
    switches = {
        "add_prefix_space": add_prefix_space,
        "trim_offsets": trim_offsets,
        "special_tokens_in_text": special_tokens_in_text,
    }
    texts = [*TEXTS, *random_strings(5_000, seed=1), *real_lines()[::9]]
    encodings = theirs(**switches).encode_batch(texts, add_special_tokens=False)
    assert differing(ours(**switches), encodings, texts) == []


@pytest.mark.parametrize("skip", [True, False])
def test_detokenize(skip):
    rng = random.Random(0)
    sizes = [300, ours().vocabulary_size()] * 5_000
    ids = [[rng.randrange(n) for _ in range(rng.randrange(30))] for n in sizes]
    expected = theirs().decode_batch(ids, skip_special_tokens=skip)
    ragged = tf.ragged.constant(ids, dtype=tf.int32)
    texts = ours().detokenize(ragged, skip_special_tokens=skip).numpy()
    assert [x.decode() for x in texts] == expected


def test_written_files_in_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    from keras_bert_lite.checkpoints.tokenizers import byte_pair as byte_pair_files

    byte_pair_files.write(ours(), tmp_path)
    assert (
        ours().get_config()["merges"]
        == (byte_pair_files.arguments_from(tmp_path)["merges"])
    )
    reference = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "tokenizer.json")
    )
    lines = real_lines()[::20]
    expected = reference(lines, add_special_tokens=False, split_special_tokens=True)
    assert ours()(lines).to_list() == expected["input_ids"]
    single = reference("a fine day")["input_ids"]
    np.testing.assert_array_equal(single[1:-1], ours()("a fine day"))
    assert [single[0], single[-1]] == [0, 2]
