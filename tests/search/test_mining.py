"""Hard negatives, by words and by vectors."""

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.tasks.sentence_embedding import EMBEDDING
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")
PAIRS = [
    {"query": "fine day", "positive": "a fine day"},
    {"query": "fine day", "positive": "fine weather"},
    {"query": "bad weather", "positive": "the bad weather"},
]


def test_the_best_others_by_words():
    rows = kbl.data.mine_negatives(PAIRS, negatives=1)
    assert [x["query"] for x in rows] == [x["query"] for x in PAIRS]
    # What is right for the same query in another record is no negative.
    assert rows[0]["candidates"] == ["a fine day", "the bad weather"]
    assert rows[1]["candidates"] == ["fine weather", "the bad weather"]
    assert rows[2]["candidates"] == ["the bad weather", "fine weather"]
    assert all(x["grades"] == [1, 0] for x in rows)


def test_other_texts_and_those_that_are_skipped():
    texts = ["day", "fine fine", "a fine day", "not", "day day fine"]
    options = {"texts": texts, "negatives": 2}
    (row,) = kbl.data.mine_negatives(PAIRS[:1], **options)
    assert row["candidates"] == ["a fine day", "day day fine", "fine fine"]
    (row,) = kbl.data.mine_negatives(PAIRS[:1], skip=1, **options)
    assert row["candidates"] == ["a fine day", "fine fine", "day"]
    assert kbl.data.mine_negatives(PAIRS[:1], skip=9, **options) == []


def test_a_margin_below_the_right_text():
    texts = ["fine day fine day", "day fine a", "day"]  # above, the same, below
    (row,) = kbl.data.mine_negatives(PAIRS[:1], texts)
    assert row["candidates"] == ["a fine day", *texts]
    (row,) = kbl.data.mine_negatives(PAIRS[:1], texts, margin=0.1)
    assert row["candidates"] == ["a fine day", "day"]
    assert row["grades"] == [1, 0]


def test_the_nearest_vectors():
    preprocessor = tiny.preprocessor()
    model = kbl.with_text(kbl.sentence_encoder(tiny.encoder()), preprocessor)
    texts = [*filter(None, tiny.TEXTS), "a fine day", "the weather"]
    (row,) = kbl.data.mine_negatives(PAIRS[:1], texts, model, negatives=3)
    vectors = model.predict(["fine day", *texts], verbose=0)[EMBEDDING]
    cosines = vectors[1:] @ vectors[0]
    order = [texts[i] for i in np.argsort(-cosines) if texts[i] != "a fine day"]
    assert row["candidates"] == ["a fine day", *list(dict.fromkeys(order))[:3]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"negatives": 0}, "`negatives` must be"),
        ({"skip": -1}, "`skip` must be"),
        ({"margin": 1.5}, "`margin` must be"),
        ({"texts": ["a", ""]}, "`texts` must be a list .* none of them empty"),
        ({"positive": "answer"}, "`positive` must be one of the columns"),
        ({"encoder": tiny.classifier()}, "`encoder` must be a `sentence_encoder`"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        kbl.data.mine_negatives(PAIRS, **options)
