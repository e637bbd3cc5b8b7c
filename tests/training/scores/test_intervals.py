"""Intervals of scores, and which differences are more than chance."""

import numpy as np
import pytest

from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.training.scores.intervals import difference, intervals

SCORER = TUNABLE["text_classification"].scorer
TRUE = np.array(["a", "b"] * 50)


def details(*wrong):
    """The details of a model that answers some rows wrong."""
    answers = TRUE.copy()
    answers[list(wrong)] = "c"
    rows = [{"text": "x", "label": x} for x in TRUE]
    return SCORER.details(rows, {"label": answers}, {})


def test_the_interval_of_a_share_is_wilsons():
    """Values of Newcombe, 1998, table I, for 81 of 263 (0.2553, 0.3662)."""
    right = np.arange(263) < 81
    found = intervals(TUNABLE["multiple_choice"].scorer, {"accuracy": right})
    np.testing.assert_allclose(found["accuracy"], (0.2553, 0.3662), atol=5e-5)


def test_other_intervals_hold_the_score():
    found = intervals(SCORER, details(*range(0, 100, 4)))
    for name, score in SCORER.combine(details(*range(0, 100, 4))).items():
        low, high = found[name]
        assert low < score < high
        assert high - low < 0.25
    assert intervals(SCORER, details())["matthews"] == (1.0, 1.0)


def test_a_difference_that_may_be_chance():
    first, second = details(0, 1, 2), details(2, 3)
    interval, p = difference(SCORER, "accuracy", first, second)
    assert interval[0] < 0.01 < interval[1]
    assert p == 1.0  # of three rows that differ, the second is right on two


def test_a_p_value_is_of_both_sides():
    _, p = difference(SCORER, "macro_f1", details(0, 2, 4), details(6, 8, 10))
    assert p > 0.8


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_a_difference_that_is_not(metric):
    interval, p = difference(SCORER, metric, details(*range(20)), details(0, 1))
    assert interval[0] > 0
    assert p < 0.01
    interval, p = difference(SCORER, metric, details(0, 1), details(*range(20)))
    assert interval[1] < 0
    assert p < 0.01


def test_mcnemars_exact_test():
    """2 * (1 + 10) / 2^10 of the binomial distribution, for 9 of 10 rows."""
    _, p = difference(SCORER, "accuracy", details(*range(9)), details(50))
    assert p == pytest.approx(2 * (1 + 10) / 2**10)
