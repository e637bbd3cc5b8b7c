"""Scores of sentence vectors, by hand and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from keras_bert_lite.training.scores.sentences import (
    PairScorer,
    SimilarityScorer,
    TripletScorer,
    all_cosines,
    best_places,
    similarities,
)


def vectors(*rows):
    return {"sentence_embedding": np.array(rows, float)}


def numbered(labels):
    return [
        {"text": f"a{i}", "text_pair": f"b{i}", "label": x}
        for i, x in enumerate(labels)
    ]


def test_similarities_are_cosines():
    rows = vectors([[1, 0], [2, 0], [0, 3]], [[1, 1], [0, 0], [-2, -2]])
    np.testing.assert_allclose(similarities(rows), [[1, 0], [0, -1]], atol=1e-6)


def test_degrees_of_similarity():
    rows = numbered([0, 2, 5])
    scores = SimilarityScorer().scores(
        rows, {"similarity": np.array([[0.1], [0.3], [0.2]])}, {}
    )
    assert scores == {
        "spearman": pytest.approx(0.5),
        "pearson": pytest.approx(np.corrcoef([0, 2, 5], [0.1, 0.3, 0.2])[0, 1]),
    }


def test_zeros_and_ones():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 50)
    found = (labels + rng.normal(size=50)).round(1)  # some are equal
    scores = SimilarityScorer().scores(
        numbered(labels.tolist()), {"similarity": found[:, None]}, {}
    )
    named = [found >= x for x in sorted({*found, np.inf})]
    assert scores["average_precision"] == average_precision_score(labels, found)
    best = max(np.mean(x == labels) for x in named)
    assert scores["accuracy"] == pytest.approx(best)
    assert scores["f1"] == pytest.approx(
        max(f1_score(labels, x, zero_division=0) for x in named)
    )


def test_one_label_alone_is_no_classification():
    scores = SimilarityScorer().scores(
        numbered([1, 1]), {"similarity": np.array([[0.1], [0.3]])}, {}
    )
    assert scores == {"spearman": 0.0, "pearson": 0.0}


def test_the_pair_that_is_most_wrong():
    found = {"similarity": np.array([[0.9], [0.5], [0.8]])}
    worst = SimilarityScorer().mistakes(numbered([0, 2.5, 5]), found, {})["worst"]
    assert worst[0]["text"] == "a0 | b0"
    assert worst[0]["expected"], worst[0]["answer"] == ("0", "0.900")


def test_triplets():
    rows = [
        {"text": "a", "text_pair": "b", "negative": "c"},
        {"text": "d", "text_pair": "e", "negative": "f"},
        {"text": "g", "text_pair": "h", "negative": "i"},
    ]
    answers = {"similarity": np.array([[0.9, 0.1], [0.2, 0.3], [0.5, 0.5]])}
    scorer = TripletScorer()
    assert scorer.scores(rows, answers, {}) == {"accuracy": pytest.approx(1 / 3)}
    worst = scorer.mistakes(rows, answers, {})["worst"]
    assert [x["answer"] for x in worst] == ["f", "i"]  # a tie is wrong too


def test_pairs_are_found_among_the_texts_of_all_rows():
    rows = [
        {"text": "a", "text_pair": "x"},
        {"text": "b", "text_pair": "y"},
        {"text": "a", "text_pair": "z"},
    ]
    a, b = [1, 0], [0, 1]
    x, y, z = [1, 2], [1, 0.1], [1, 1]
    answers = vectors([a, x], [b, y], [a, z])
    # a: y, z, x, of which z and x are right; b: x, z, y, of which y is.
    scores = PairScorer().scores(rows, answers, {})
    assert scores["mrr@10"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    assert scores["map@100"] == pytest.approx(((1 / 2 + 2 / 3) / 2 * 2 + 1 / 3) / 3)
    assert scores["accuracy@1"] == 0
    assert scores["recall@10"] == 1
    given = {"order": [np.array([2, 0]), np.array([1]), np.array([1, 2])]}
    details = PairScorer().details(rows, given, {})
    assert details["accuracy@1"].tolist() == [1, 1, 0]
    assert details["recall@10"].tolist() == [1, 1, 0.5]
    worst = PairScorer().mistakes(rows, given, {})["worst"]
    assert worst == [
        {"text": "a", "expected": "z", "answer": "y", "loss": worst[0]["loss"]}
    ]


@pytest.mark.parametrize(
    ("scores", "count", "places"),
    [
        ([1, 3, 2], 2, [1, 2]),
        ([1, 1, 1], 2, [0, 1]),
        ([0, 1, 1, 2], 3, [3, 1, 2]),
        ([1, -np.inf], 5, [0]),
        ([-np.inf, -np.inf], 1, []),
    ],
)
def test_best_places(scores, count, places):
    assert best_places(np.array(scores, float), count).tolist() == places


def test_a_search_of_more_queries_than_are_compared_at_once():
    rng = np.random.default_rng(0)
    queries, texts = rng.normal(size=(150, 4)), rng.normal(size=(7, 4))
    found = [*all_cosines(queries, texts)]
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(texts, axis=1)
    np.testing.assert_allclose(found, queries @ texts.T / lengths, atol=1e-6)
