"""A few strings to ids without TensorFlow."""

import functools

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving.runtimes.few_strings import FEW, few_strings
from tests import tiny
from tests.text.hard_strings import HARD_STRINGS

pytestmark = pytest.mark.tensorflow(reason="tokenizers need TensorFlow")
SHORT = [x for x in HARD_STRINGS if isinstance(x, str) and len(x) <= FEW]
OPTIONS = [
    {},
    {"lowercase": False},
    {"strip_accents": False},
    {"split_cjk": False, "max_characters_per_word": 5},
]


@functools.cache
def pieces():
    return kbl.load_preprocessor("bert_mini_books").tokenizer.get_vocabulary()


def check(preprocessor, texts):
    found, expected = few_strings(preprocessor)(texts), preprocessor(texts)
    assert list(found) == list(expected)
    for name, values in found.items():
        assert values.dtype == expected[name].dtype.as_numpy_dtype
        np.testing.assert_array_equal(values, expected[name])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("length", [None, 3, 8])
def test_the_same_rows(options, length):
    tokenizer = kbl.WordPieceTokenizer(pieces(), **options)
    preprocessor = kbl.Preprocessor(tokenizer, sequence_length=length)
    assert len(SHORT) > 20
    without_tensorflow = few_strings(preprocessor)
    in_one_batch = {name: x.numpy() for name, x in preprocessor(SHORT).items()}
    for i, text in enumerate(SHORT):
        real = in_one_batch["padding_mask"][i]
        for name, values in without_tensorflow([text]).items():
            np.testing.assert_array_equal(values, in_one_batch[name][i][real][None])
    check(preprocessor, ["a day", "", "[SEP] it was a fine day [PAD]"])


def test_a_prompt():
    prompts = {"prompts": {"q": "It was: "}, "default_prompt_name": "q"}
    check(kbl.Preprocessor(tiny.tokenizer(), **prompts), ["a day", ""])


@pytest.mark.parametrize(
    "texts",
    [
        [],
        "a day",
        ["a day", b"fine"],
        np.array(["a day"]),
        ("a day", "fine"),
        {"text": ["a day"]},
        ["a" * (FEW + 1)],
        ["\ud800"],
    ],
    ids=lambda x: repr(x)[:20],
)
def test_what_is_left_to_tensorflow(texts):
    assert few_strings(tiny.preprocessor())(texts) is None


@pytest.mark.parametrize(
    "options",
    [{"special_tokens_in_text": True}, {"added_tokens": ["day"]}],
    ids=lambda x: next(iter(x)),
)
def test_tokens_in_the_text_are_left_to_tensorflow(options):
    preprocessor = kbl.Preprocessor(tiny.tokenizer(**options))
    assert few_strings(preprocessor)(["a day"]) is None


@pytest.mark.parametrize(
    "options", [{"padding": "max_length"}, {"padding": [8, 16]}, {"stride": 2}], ids=str
)
def test_other_rows_are_left_to_tensorflow(options):
    assert few_strings(tiny.preprocessor(**options))(["a day"]) is None
