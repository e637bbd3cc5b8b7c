"""How well a linear model is expected to predict other rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict

from keras_bert_lite.training import linear_model
from keras_bert_lite.training.linear_model import SOFTMAX, Examples, LinearModel

FORM = LinearModel(SOFTMAX, 3, np.zeros((3, 0)))


def examples(count, a_row=1):
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(count, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    targets = (vectors + generator.normal(0, 0.3, (count, 3))).argmax(1)
    return Examples(vectors, targets, np.ones(count), np.arange(count) // a_row)


def expected(found, strength):
    """The loss of each example, by scikit-learn."""
    probabilities = cross_val_predict(
        LogisticRegression(C=strength, tol=1e-8),
        found.vectors,
        found.targets,
        groups=found.rows % 4,
        cv=LeaveOneGroupOut(),
        method="predict_proba",
    )
    return -np.log(probabilities[np.arange(len(found.targets)), found.targets])


@pytest.mark.parametrize("a_row", [1, 3])
def test_the_expected_losses_are_those_of_cross_validation(a_row):
    found = examples(60, a_row)
    losses = FORM.expected_losses(found, [10.0])
    others = np.bincount(found.rows, expected(found, 10.0))
    order = np.argsort(np.arange(len(others)) % 4, kind="stable")
    np.testing.assert_allclose(losses, others[order], atol=5e-3)


def test_the_best_strength_counts():
    found, strengths = examples(60), [0.01, 1.0, 100.0]
    losses = [FORM.expected_losses(found, [x]).mean() for x in strengths]
    assert FORM.expected_losses(found, strengths).mean() == min(losses)


@pytest.mark.parametrize(("judged", "parts"), [(1, 1), (15, 1), (16, 2), (999, 4)])
def test_enough_rows_are_judged(judged, parts, monkeypatch):
    monkeypatch.setattr(linear_model, "JUDGED", judged)
    assert len(FORM.expected_losses(examples(60), [10.0])) == 15 * parts
