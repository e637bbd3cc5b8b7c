"""BM25 against its formula."""

import numpy as np
import pytest

from keras_bert_lite.training.bm25 import BM25

TEXTS = ["The cat sat, the CAT!", "a dog", "no cat or dog here today", ""]
LENGTHS = [5, 2, 6, 0]


def idf(having):
    return np.log(1 + (4 - having + 0.5) / (having + 0.5))


def part(having, count, length, k1=1.2, b=0.75):
    slack = k1 * (1 - b + b * length / np.mean(LENGTHS))
    return idf(having) * count * (k1 + 1) / (count + slack)


def test_ranks_documents_by_its_formula():
    places, scores = BM25(TEXTS).rank(["cat dog cat", "nothing"], 3)
    # A word that the query repeats counts twice.
    expected = [
        2 * part(2, 2, 5),
        part(2, 1, 2),
        2 * part(2, 1, 6) + part(2, 1, 6),
    ]
    order = np.argsort(expected)[::-1]
    assert places[0].tolist() == order.tolist()
    np.testing.assert_allclose(scores[0], np.array(expected)[order], rtol=1e-6)
    assert places[1].tolist() == [0, 1, 2]  # equal ones by their places
    assert not scores[1].any()


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4)])
def test_scores_other_texts(k1, b):
    scores = BM25(TEXTS, k1, b).scores("Cat", ["cat cat unknown", "dog"])
    expected = [part(2, 2, 3, k1, b), 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_texts_without_words():
    places, scores = BM25(["...", "!"]).rank(["a", ""], 9)
    assert places.tolist() == [[0, 1]] * 2
    assert not scores.any()


def test_many_queries_are_scored_in_parts():
    words = [f"w{i}" for i in range(150)]
    places, scores = BM25(words).rank(words, 1)
    assert places[:, 0].tolist() == list(range(150))
    assert (scores > 0).all()
