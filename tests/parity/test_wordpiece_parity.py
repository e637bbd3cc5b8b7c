"""Ids and offsets against transformers' `BertTokenizerFast` on real text."""

import functools

import numpy as np
import pytest

from keras_bert_lite import Preprocessor, WordPieceTokenizer, load_tokenizer
from tests.parity.lines import characters_in_words, differing, real_lines
from tests.paths import DATA
from tests.text.hard_strings import HARD_STRINGS

VOCABULARIES = {
    "bert-base-uncased": True,
    "bert-base-cased": False,
    "bert-base-multilingual-cased": False,
    "bert-base-chinese": True,
}
pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(
        not (DATA / "vocabularies").is_dir(),
        reason=f"{DATA} has no vocabularies; KERAS_BERT_LITE_DATA names the folder",
    ),
]


def vocabulary_path(name):
    return DATA / "vocabularies" / name / "vocab.txt"


@functools.cache
def ours(name, **changes):
    return WordPieceTokenizer(
        vocabulary_path(name), lowercase=VOCABULARIES[name], **changes
    )


@functools.cache
def theirs(name):
    transformers = pytest.importorskip("transformers")
    return transformers.BertTokenizerFast(
        str(vocabulary_path(name)), do_lower_case=VOCABULARIES[name]
    )


def reference_encodings(name, texts, special_tokens_in_text=False):
    backend = theirs(name).backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = not special_tokens_in_text
    return backend.encode_batch(texts, add_special_tokens=False)


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize(
    "texts",
    [real_lines, characters_in_words, lambda: HARD_STRINGS],
    ids=["real_lines", "characters_in_words", "hard_strings"],
)
def test_ids_and_offsets(name, texts):
    encodings = reference_encodings(name, texts())
    assert differing(ours(name), encodings, texts()) == []


@pytest.mark.parametrize("name", VOCABULARIES)
def test_special_tokens_recognized(name):
    tokenizer = ours(name, special_tokens_in_text=True)
    lines = [f"{x[:9]}[MASK]{x[9:]} [SEP]" for x in real_lines()[::10] if x]
    texts = [*HARD_STRINGS, *lines]
    encodings = reference_encodings(name, texts, special_tokens_in_text=True)
    assert differing(tokenizer, encodings, texts) == []


def pairs():
    """Real lines beside others, beside themselves, and beside nothing."""
    lines = [line for line in real_lines() if line][::13]
    return [
        *zip(lines, reversed(lines), strict=True),
        *zip(lines[::5], lines[::5], strict=True),
        *((line, "") for line in lines[::50]),
        *(("", line) for line in lines[::50]),
    ]


def expected_inputs(name, *texts, length):
    tokenizer = theirs(name)
    tokenizer.backend_tokenizer.encode_special_tokens = True
    outputs = tokenizer(
        *texts,
        truncation="longest_first",
        max_length=length,
        padding=True,
        return_tensors="np",
        return_token_type_ids=True,
    )
    return {
        "token_ids": outputs["input_ids"],
        "segment_ids": outputs["token_type_ids"],
        "padding_mask": outputs["attention_mask"].astype(bool),
    }


def assert_same(outputs, expected):
    for name, value in expected.items():
        np.testing.assert_array_equal(outputs[name], value, name)


@pytest.mark.parametrize("length", [3, 16, 33, 128])
@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-multilingual-cased"])
def test_pairs(name, length):
    first, second = map(list, zip(*pairs(), strict=True))
    outputs = Preprocessor(ours(name), length)((first, second))
    assert_same(outputs, expected_inputs(name, first, second, length=length))


@pytest.mark.parametrize("length", [3, 16, 128])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_single_texts(name, length):
    lines = real_lines()[::7]
    outputs = Preprocessor(ours(name), length)(lines)
    assert_same(outputs, expected_inputs(name, lines, length=length))


def folders_with_tokenizer_json():
    paths = sorted(DATA.glob("vocabularies/*/tokenizer.json"))
    return [path.parent for path in paths]


@pytest.mark.parametrize(
    "folder", folders_with_tokenizer_json(), ids=lambda folder: folder.name
)
def test_tokenizer_json(folder):
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    reference.encode_special_tokens = True
    texts = [*HARD_STRINGS, *real_lines()[::3]]
    encodings = reference.encode_batch(texts, add_special_tokens=False)
    assert differing(load_tokenizer(folder), encodings, texts) == []


def test_detokenize():
    tokenizer = ours("bert-base-uncased")
    texts = [line for line in real_lines() if line.isascii()][::5]
    encodings = reference_encodings("bert-base-uncased", texts)
    expected = [" ".join(e.tokens).replace(" ##", "") for e in encodings]
    joined = tokenizer.detokenize(tokenizer(texts)).numpy()
    assert [x.decode() for x in joined] == expected
