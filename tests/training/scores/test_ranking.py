"""Scores of rankings, against ranx and by hand."""

import json

import numpy as np
import pytest

from keras_bert_lite.evaluation import ranking_scores
from keras_bert_lite.training.scores.intervals import intervals
from keras_bert_lite.training.scores.ranking import METRICS, RankingScorer
from tests.paths import GOLDEN
from tests.training.scores.rankings import queries

RANX = json.loads((GOLDEN / "rankings.json").read_text())
OURS = {"hit_rate@5": "accuracy@5"}


def test_equal_those_of_ranx():
    """Of 1,000 rankings, some of whose documents nobody judged."""
    names = [OURS.get(name, name) for name in RANX]
    scores = []
    for ranked, judged in queries():
        order = sorted(ranked, key=ranked.__getitem__, reverse=True)
        grades = [judged.get(document, 0) for document in order]
        scores.append(ranking_scores(names, grades, list(judged.values())))
    for name, expected in RANX.items():
        values = [x[OURS.get(name, name)] for x in scores]
        np.testing.assert_allclose(values[:20], expected["first"], err_msg=name)
        assert np.mean(values) == pytest.approx(expected["mean"], rel=1e-9), name


def test_scores_by_hand():
    scores = ranking_scores(
        ["ndcg@2", "mrr", "mrr@1", "map", "recall@2", "precision@2", "accuracy@1"],
        [0, 2, 0, 1],
        [0, 2, 0, 1, 3],
    )
    best = 3 + 2 / np.log2(3)
    assert scores == pytest.approx(
        {
            "ndcg@2": 2 / np.log2(3) / best,
            "mrr": 1 / 2,
            "mrr@1": 0,
            "map": (1 / 2 + 2 / 4) / 3,
            "recall@2": 1 / 3,
            "precision@2": 1 / 2,
            "accuracy@1": 0,
        }
    )


@pytest.mark.parametrize(("grades", "judged"), [([0, 0], None), ([], [1]), ([0], [2])])
def test_nothing_relevant_scores_nothing(grades, judged):
    assert set(ranking_scores(METRICS, grades, judged).values()) == {0.0}


@pytest.mark.parametrize("name", ["gain", "ndcg@", "ndcg@0", "ndcg@x", "@3"])
def test_refuses_unknown_scores(name):
    with pytest.raises(ValueError, match=f"`names` must be of .*Received: '{name}'"):
        ranking_scores([name], [1])


@pytest.mark.parametrize("grades", [[-1], [float("nan")], [[1]]])
def test_refuses_what_are_no_grades(grades):
    for given in ({"grades": grades}, {"grades": [1], "judged": grades}):
        with pytest.raises(ValueError, match="must be numbers from 0"):
            ranking_scores(["ndcg"], **given)


ROWS = [
    {"query": "a", "candidates": ["x", "y", "z"], "grades": [0, 1, 0]},
    {"query": "b", "candidates": ["v", "w"], "grades": [2, 0]},
]
ANSWERS = {"order": np.array([[2, 1, 0], [0, 2, 1]])}  # of the second, 2 is padding


def test_scores_of_answers():
    scorer = RankingScorer()
    details = scorer.details(ROWS, ANSWERS, {})
    scores = scorer.combine(details)
    half = (1 / np.log2(3) + 1) / 2
    expected = {"ndcg@10": half, "mrr@10": 0.75, "map": 0.75, "accuracy@1": 0.5}
    assert scores == pytest.approx(expected)
    low, high = intervals(scorer, details)["mrr@10"]
    assert (low, high) == (0.5, 1.0)


def test_a_wrong_first_candidate_is_a_mistake():
    mistakes = RankingScorer().mistakes(ROWS, ANSWERS, {})
    (worst,) = mistakes["worst"]
    assert (worst["text"], worst["expected"], worst["answer"]) == ("a", "y", "z")
    assert worst["loss"] == pytest.approx(1 - 1 / np.log2(3))
