"""ModernBERT's and EuroBERT's pipelines against Hugging Face's on real text.

The published vocabularies are not among the data: the vocabularies are trained on the
real lines.
"""

import json
import random

import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from tests import tiny
from tests.golden.make_byte_pair_pipelines import PIPELINE_TEXTS
from tests.parity.lines import characters_in_words, differing, real_lines
from tests.paths import DATA
from tests.text.byte_pair import pipelines

pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(not (DATA / "multilingual_lines").is_dir(), reason="needs data"),
]
tokenizers = pytest.importorskip("tokenizers")
WORDS = """
    ' 's 'S 'll 'LL 'Re 've 'ſ 's s t 1 12 123 1234 \u0661 ½ a the The é e\u0301 日本 😀
    \u0301 \u0323 \u0301\u0323 \u0338 > ! ... - _ = Ġ \U000f0000 \U0010fffd \ufffd ß ##
    \u0378 \u08d3 \u1abf \u1100\u1161\u11a8 \u212b \u212a \u1e9b\u0323 \u0b47\u0b56
    [MASK] [CLS] <|endoftext|> <|mask|> <|pad|> [unused1] |||IP_ADDRESS|||
"""
PARTS = WORDS.split()
PARTS += [" ", "  ", " " * 5, " " * 23, " " * 25, " " * 49, " the", " [MASK]"]
PARTS += ["\n", "\n\n", " \n", "\t", "\r\n", "\r", "\u3000", "\xa0", "\u2028", "\x85"]
PARTS += ["\0", "\x01", "\x1c", "\x7f", "  <|mask|> ", "\n[MASK]", "\u2000"]


@pytest.fixture(scope="module", params=pipelines.MAKERS)
def directory(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return pipelines.write(request.param, real_lines()[::3], 12_000, folder)


def random_strings(count=10_000, seed=0):
    rng = random.Random(seed)
    return ["".join(rng.choices(PARTS, k=rng.randrange(25))) for _ in range(count)]


def around_spaces():
    """Every character between spaces, line ends, digits and marks."""
    code_points = (*range(0xD800), *range(0xE000, 0x30000, 11))
    return [f"'{x} {x}{x}1\n{x} \u0301{x}" for x in map(chr, code_points)]


def long_words():
    letters = random.Random(0).choices("abcdefghij", k=30_000)
    return ["".join(letters), *(part * 2_000 for part in PARTS)]


@pytest.mark.parametrize(
    ("texts", "in_text"),
    [
        (real_lines, False),
        (random_strings, False),
        (random_strings, True),
        (characters_in_words, False),
        (around_spaces, True),
        (long_words, True),
    ],
)
def test_ids_and_offsets(directory, texts, in_text):
    theirs = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    theirs.encode_special_tokens = not in_text
    ours = kbl.load_tokenizer(directory, special_tokens_in_text=in_text)
    everything = texts()
    for start in range(0, len(everything), 100_000):
        batch = everything[start : start + 100_000]
        encodings = theirs.encode_batch(batch, add_special_tokens=False)
        assert differing(ours, encodings, batch) == []


def test_detokenize(directory):
    theirs = tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))
    ours = kbl.load_tokenizer(directory)
    rng = random.Random(0)
    size = ours.vocabulary_size()
    ids = [
        [rng.randrange(size) for _ in range(rng.randrange(30))] for _ in range(5_000)
    ]
    for skip in (True, False):
        expected = theirs.decode_batch(ids, skip_special_tokens=skip)
        texts = ours.detokenize(ids, skip_special_tokens=skip).numpy()
        assert [x.decode() for x in texts] == expected


def test_written_files_in_transformers(directory, tmp_path):
    transformers = pytest.importorskip("transformers")
    preprocessor = kbl.load_preprocessor(directory, sequence_length=24)
    family = directory.name.rstrip("0123456789")
    write_tokenizer(preprocessor, tiny.config(family=family), tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    texts = [*PIPELINE_TEXTS, *random_strings(500), *real_lines()[::40]]
    half = len(texts) // 2
    pairs = texts[:half], texts[half : 2 * half]
    limits = {"truncation": True, "max_length": 24}
    for source in (directory, tmp_path):
        theirs = transformers.AutoTokenizer.from_pretrained(source)
        assert type(theirs).__name__ == "TokenizersBackend"
        ids = theirs(texts, split_special_tokens=True, **limits)["input_ids"]
        assert rows(preprocessor(texts)) == ids
        ids = theirs(*pairs, split_special_tokens=True, **limits)["input_ids"]
        assert rows(preprocessor(pairs)) == ids
        ids = theirs(texts, add_special_tokens=False)["input_ids"]
        ours = kbl.load_tokenizer(source, special_tokens_in_text=True)
        assert ours(texts).to_list() == ids
    assert theirs.model_max_length == 24
    again = kbl.load_tokenizer(tmp_path, name="x").get_config()
    assert again == kbl.load_tokenizer(directory, name="x").get_config()


def rows(outputs):
    mask = outputs["padding_mask"]
    return tf.ragged.boolean_mask(outputs["token_ids"], mask).to_list()
