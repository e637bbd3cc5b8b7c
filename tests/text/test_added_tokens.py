"""Tokens that are found in text, beside Hugging Face's `tokenizers`."""

import json

import keras
import pytest
import tensorflow as tf
import tokenizers

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.tokenizers.saving import write_tokenizer
from tests import tiny
from tests.text.token_samples import ADDED, MAKERS, SPECIAL

TEXTS = [
    "abcde bcdea abcbcde xabcd",
    "Fine FINE fine finer e.f. e.fe",
    "a [E1] b[E1]c  <user> [e1] weather Weather",
    "東京 the東京day",
    "  [MASK] the [MASK]\t[SEP]\u3000[MASK]",
    "",
]


@pytest.fixture(params=MAKERS)
def make(request):
    def make(**changes):
        arguments = {
            "added_tokens": ADDED,
            "additional_special_tokens": SPECIAL,
            "token_flags": {"[MASK]": ["lstrip"]},
            "special_tokens_in_text": True,
        }
        return MAKERS[request.param](**{**arguments, **changes})

    return make


def reference(tokenizer, directory):
    write_tokenizer(kbl.Preprocessor(tokenizer, 32), tiny.config(), directory)
    return tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))


def test_found_as_the_reference_finds_them(make, tmp_path):
    ours = make()
    theirs = reference(ours, tmp_path)
    ids, starts, ends = ours.tokenize_with_offsets(TEXTS)
    expected = [theirs.encode(text, add_special_tokens=False) for text in TEXTS]
    assert ids.to_list() == ours(TEXTS).to_list() == [x.ids for x in expected]
    for row, x in enumerate(expected):
        spans = zip(starts[row].numpy(), ends[row].numpy(), strict=True)
        assert [(int(a), int(b)) for a, b in spans] == x.offsets


def test_special_ones_are_plain_text_unless_asked_for(make):
    ours = make(special_tokens_in_text=False)
    special = {ours.token_to_id(token) for token in SPECIAL[:2]}
    assert not special & set(ours(TEXTS).flat_values.numpy().tolist())
    assert ours.token_to_id("abc") in ours(["abc"]).flat_values.numpy()


def test_come_back_from_files(make, tmp_path):
    ours = make()
    reference(ours, tmp_path)
    again = kbl.load_tokenizer(tmp_path, special_tokens_in_text=True)
    assert again(TEXTS).to_list() == ours(TEXTS).to_list()
    assert set(again.additional_special_tokens) == set(SPECIAL)
    assert again.token_flags == ours.token_flags
    entries = json.loads((tmp_path / "tokenizer.json").read_text())["added_tokens"]
    special = {x["content"] for x in entries if x["special"]}
    assert {*SPECIAL, "[MASK]"} <= special
    assert not special & set(ADDED)
    (mask,) = (x for x in entries if x["content"] == "[MASK]")
    assert mask["lstrip"]


def test_are_left_out_when_joined(make):
    ours = make()
    ids = [ours.token_to_id(x) for x in ("[E1]", "abc")]
    assert ours.detokenize(ids).numpy() == b"abc"


def test_travel_in_models(make, tmp_path):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("text layers are parts of models under TensorFlow only")
    ours = make()
    copy = type(ours).from_config(ours.get_config())
    assert copy(TEXTS).to_list() == ours(TEXTS).to_list()
    function = tf.function(ours).get_concrete_function(tf.TensorSpec([None], tf.string))
    assert function(tf.constant(TEXTS)).to_list() == ours(TEXTS).to_list()


@pytest.mark.parametrize("flag", ["single_word", "rstrip"])
def test_refuses_flags_that_it_would_find_tokens_without(make, flag):
    if isinstance(make(), kbl.BytePairTokenizer):
        pytest.skip("byte-level BPE honors all flags")
    for token in ("[E1]", "abc"):
        with pytest.raises(ValueError, match=rf"only without the flags \['{flag}'\]"):
            make(token_flags={token: [flag]})
    plain = make(token_flags={"[E1]": [flag]}, special_tokens_in_text=False)
    assert plain.flags_of("[E1]") == [flag]  # kept for files


def test_refuses_tokens_and_flags_that_are_not_there(make):
    with pytest.raises(ValueError, match="`additional_special_tokens` must be pieces"):
        make(additional_special_tokens=["[E9]"])
    with pytest.raises(ValueError, match="`token_flags` must map tokens of the"):
        make(token_flags={"[E1]": ["bold"]})
    with pytest.raises(ValueError, match="`token_flags` must map tokens of the"):
        make(token_flags={"[E9]": ["lstrip"]})
