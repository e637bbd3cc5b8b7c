"""Ids and offsets against transformers' unigram tokenizers on real text.

XLM-R's and DeBERTa's models are trained here, with their normalization and
their special pieces; ALBERT's is the released one.
"""

import functools
import itertools
import random

import pytest
import tensorflow as tf

from keras_bert_lite.checkpoints.tokenizers.sentence_piece import arguments_from, write
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from tests.parity.lines import characters_in_words, differing, real_lines
from tests.paths import DATA
from tests.text.hard_strings import HARD_STRINGS

FAMILIES = {
    "albert": ("AlbertTokenizer", "spiece.model", {}),
    "xlmr": ("XLMRobertaTokenizer", "sentencepiece.bpe.model", {}),
    "deberta": (
        "DebertaV2Tokenizer",
        "spm.model",
        {
            **{"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3},
            **{"pad_piece": "[PAD]", "bos_piece": "[CLS]"},
            **{"eos_piece": "[SEP]", "unk_piece": "[UNK]"},
        },
    ),
}
SYMBOLS = [
    *"abcdefgho ITAE  .,-()'`\"▁<>",
    *("``", "''", "\r\n", "\n", "\t", "\u00a0", "\u3000", "  ", "\x0b", "\x85"),
    *("[MASK]", "<mask>", "<unk>", "</s>", "<pad>", "<s>", "[UNK]"),
    *"\u0301\u0323\u0302\u0308\u200d\u200b\ufe0f\u3099\u094d\u093c\u0653\u064b\u0e48",
    *"🏽👩❤☃©™ª½ﬁéåＡｇ！，İßΣﷺﷲ\u0958\u0e33กअक한국\u1112\u1161\u11abاカｶﾞ日本𠀀🇩🇪",
    *"\x01\u2028\u00ad\ufeff\ufffd\U00100000\U00100002\ue000\u0600\u09c7\u09be\u0378",
]
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(
        not (DATA / "vocabularies" / "albert" / "spiece.model").is_file(),
        reason=f"{DATA} has no vocabularies; KERAS_BERT_LITE_DATA names the folder",
    ),
]


def random_strings():
    rng = random.Random(7)
    return ["".join(rng.choices(SYMBOLS, k=rng.randint(1, 14))) for _ in range(6000)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with the model of each family, made when first asked for."""
    sentencepiece = pytest.importorskip("sentencepiece")

    @functools.cache
    def folder(name):
        if name == "albert":
            return DATA / "vocabularies" / "albert"
        path = tmp_path_factory.mktemp(name)
        lines = [line for line in real_lines() if line.strip()]
        random.Random(0).shuffle(lines)
        _, file, options = FAMILIES[name]
        with (path / file).open("wb") as model:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(lines[:8000]),
                model_writer=model,
                vocab_size=8000,
                minloglevel=2,
                **options,
            )
        return path

    return folder


@functools.cache
def theirs(name, folder):
    transformers = pytest.importorskip("transformers")
    return getattr(transformers, FAMILIES[name][0]).from_pretrained(folder)


def encodings(tokenizer, texts, special_tokens_in_text=False):
    tokenizer.encode_special_tokens = not special_tokens_in_text
    return tokenizer.encode_batch(texts, add_special_tokens=False)


@functools.cache
def ours(folder, **changes):
    return SentencePieceTokenizer(**{**arguments_from(folder), **changes})


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "texts",
    [real_lines, characters_in_words, lambda: HARD_STRINGS],
    ids=["real_lines", "characters_in_words", "hard_strings"],
)
def test_ids_and_offsets(name, texts, folders):
    backend = theirs(name, folders(name)).backend_tokenizer
    for start in range(0, len(texts()), 20_000):
        part = texts()[start : start + 20_000]
        assert differing(ours(folders(name)), encodings(backend, part), part) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_random_strings(name, folders):
    texts = random_strings()
    expected = encodings(theirs(name, folders(name)).backend_tokenizer, texts)
    assert differing(ours(folders(name)), expected, texts) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_special_tokens_recognized(name, folders):
    tokenizer = ours(folders(name), special_tokens_in_text=True)
    mask = tokenizer.get_config()["mask_token"]
    texts = [f"{x[:9]}{mask}{x[9:]} {mask}" for x in real_lines()[::20] if x]
    texts += HARD_STRINGS
    backend = theirs(name, folders(name)).backend_tokenizer
    expected = encodings(backend, texts, special_tokens_in_text=True)
    assert differing(tokenizer, expected, texts) == []


@pytest.mark.parametrize("name", FAMILIES)
def test_detokenize(name, folders):
    reference = theirs(name, folders(name))
    ids = [x.ids for x in encodings(reference.backend_tokenizer, real_lines()[::9])]
    ids += [[i, *row, i + 1] for i, row in enumerate(ids[:60])]
    for skip in (True, False):
        joined = ours(folders(name)).detokenize(tf.ragged.constant(ids), skip)
        expected = reference.backend_tokenizer.decode_batch(ids, skip)
        assert [x.decode() for x in joined.numpy()] == expected


@pytest.mark.parametrize("name", FAMILIES)
def test_written_tokenizer_json(name, folders, tmp_path):
    from tokenizers import Tokenizer

    tokenizer = ours(folders(name))
    write(tokenizer, tmp_path, num_separators=2 if name == "xlmr" else 1)
    written = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = [*HARD_STRINGS, *real_lines()[::10]]
    assert differing(tokenizer, encodings(written, texts), texts) == []
    reference = theirs(name, folders(name)).backend_tokenizer
    reference.encode_special_tokens = True
    pairs = [*itertools.pairwise(texts[:50])]
    assert [(x.ids, x.type_ids) for x in written.encode_batch(pairs)] == [
        (x.ids, x.type_ids) for x in reference.encode_batch(pairs)
    ]
    again = SentencePieceTokenizer(**arguments_from(tmp_path))
    assert again.get_config() | {"name": ""} == tokenizer.get_config() | {"name": ""}


@pytest.mark.parametrize("name", FAMILIES)
def test_tokenizer_json_of_transformers(name, folders, tmp_path):
    reference = theirs(name, folders(name))
    reference.save_pretrained(tmp_path)
    texts = [*HARD_STRINGS, *real_lines()[::10]]
    expected = encodings(reference.backend_tokenizer, texts)
    assert differing(ours(tmp_path), expected, texts) == []
