"""MaskAnswer: the best pieces at each mask, and the text with them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.tasks.masked_lm import MaskAnswer
from tests import tiny

TOKENIZER = tiny.tokenizer(special_tokens_in_text=True)
VOCABULARY = TOKENIZER.get_vocabulary()
TEXTS = [
    "The [MASK] is [MASK]!",
    "no mask",
    "",
    "[MASK]",
    "Fine[MASK][MASK]",
    "\ta \n [MASK] 🙂[MASK] ",
]


def answer(texts, favourites, length=16, **options):
    """Answers from random logits that favour a piece at each mask, in order."""
    ids = kbl.Preprocessor(TOKENIZER, length)(texts)["token_ids"].numpy()
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(*ids.shape, len(VOCABULARY)))
    places = np.argwhere(ids == TOKENIZER.token_to_id("[MASK]"))
    for place, piece in zip(places, favourites, strict=True):
        logits[(*place, VOCABULARY.index(piece))] = 9
    logits = logits.astype("float32")
    inputs = {"prediction_logits": logits, "token_ids": ids, "text": tf.constant(texts)}
    outputs = MaskAnswer(TOKENIZER, **options)(inputs)
    return {k: np.array(x) for k, x in outputs.items()}, logits, places


def filled(text, *favourites, **options):
    return answer([text], favourites, **options)[0]["filled"][0].decode()


@pytest.mark.parametrize("top_k", [1, 5, len(VOCABULARY)])
def test_the_best_pieces_and_their_shares(top_k):
    favourites = ["day", "fine", "bad", "##er", "##ing", "a", "b"]
    found, logits, places = answer(TEXTS, favourites, top_k=top_k)
    assert found["tokens"].shape == found["scores"].shape == (6, 2, top_k)
    number = dict.fromkeys(range(6), 0)
    for row, column in places:
        values = logits[row, column].astype("float64")
        order = np.argsort(-values)[:top_k]
        shares = np.exp(values) / np.exp(values).sum()
        i = number[row]
        number[row] += 1
        expected = [VOCABULARY[x].encode() for x in order]
        assert found["tokens"][row, i].tolist() == expected
        np.testing.assert_allclose(found["scores"][row, i], shares[order], atol=1e-5)
    for row, count in number.items():
        assert not found["tokens"][row, count:].any()
        assert not found["scores"][row, count:].any()


def test_texts_are_filled():
    favourites = ["day", "fine", "bad", "##er", "##ing", "a", "b"]
    found = answer(TEXTS, favourites)[0]["filled"]
    assert [x.decode() for x in found] == [
        *("The day is fine!", "no mask", "", "bad", "Fineering", "\ta \n a 🙂b ")
    ]


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("fine [MASK]", ["##er"], "fineer"),
        ("fine \t\n[MASK] day", ["##er"], "fineer day"),
        ("[MASK] [MASK]", ["##er", "##ing"], "ering"),
        ("[MASK][MASK]", ["day", "day"], "dayday"),
        ("[mask] [MASK", [], "[mask] [MASK"),
        ("[[MASK]]", ["a"], "[a]"),
        ("[SEP] [MASK]", ["[UNK]"], "[SEP] [UNK]"),
    ],
)
def test_pieces_join_what_stands_before(text, pieces, expected):
    assert filled(text, *pieces) == expected


def test_masks_that_were_truncated_stay():
    assert filled("[MASK] a b [MASK] c", "a", length=4) == "a a b [MASK] c"
    assert filled("a b c [MASK]", length=4) == "a b c [MASK]"


def test_invalid_utf8():
    found, *_ = answer([b"\xff a\xfe[MASK]"], ["day"])
    assert found["filled"].tolist() == [b" aday"]


def test_no_rows():
    ids = tf.zeros([0, 2], tf.int32)
    logits = tf.zeros([0, 2, len(VOCABULARY)])
    inputs = {"token_ids": ids, "prediction_logits": logits, "text": tf.fill([0], "")}
    found = MaskAnswer(TOKENIZER, 3)(inputs)
    assert found["filled"].shape == (0,)
    assert found["tokens"].shape == found["scores"].shape == (0, 0, 3)


@pytest.mark.parametrize("top_k", [0, -1, 1.5, True, "1", None])
def test_refuses_counts(top_k):
    with pytest.raises(ValueError, match="`top_k` must be a positive integer"):
        MaskAnswer(TOKENIZER, top_k)


def test_refuses_more_pieces_than_there_are():
    size = len(VOCABULARY)
    message = f"`top_k` must be at most {size}, .* Received: {size + 1}"
    with pytest.raises(ValueError, match=message):
        MaskAnswer(TOKENIZER, size + 1)


def test_refuses_tokenizers_that_find_no_masks():
    with pytest.raises(
        ValueError, match=r"`special_tokens_in_text=True`\. Received one"
    ):
        MaskAnswer(tiny.tokenizer())


def test_config():
    layer = MaskAnswer(TOKENIZER, 3)
    restored = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(layer)
    )
    assert restored.get_config() == layer.get_config()
    assert restored.top_k == 3


@pytest.mark.tensorflow(reason="symbolic calls")
def test_symbols():
    symbols = {"text": keras.KerasTensor((None,), dtype="string")}
    specs = MaskAnswer(TOKENIZER, 3).compute_output_spec(symbols)
    shapes = {name: (x.shape, x.dtype) for name, x in specs.items()}
    assert shapes == {
        "tokens": ((None, None, 3), "string"),
        "scores": ((None, None, 3), "float32"),
        "filled": ((None,), "string"),
    }
