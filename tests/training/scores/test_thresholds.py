import numpy as np
import pytest
from sklearn.metrics import f1_score

from keras_bert_lite.training.scores.texts import best_threshold


def test_the_best_micro_f1():
    rng = np.random.default_rng(0)
    targets = (rng.random((200, 5)) < 0.2).astype(int)
    scores = np.clip(0.2 * targets + 0.3 * rng.random((200, 5)), 0, 1)
    found = best_threshold(scores, targets)
    candidates = np.arange(0.05, 0.95, 0.01)
    f1 = [f1_score(targets, scores > x, average="micro") for x in candidates]
    assert f1_score(targets, scores > found, average="micro") == pytest.approx(max(f1))


def test_a_score_at_the_threshold_does_not_exceed_it():
    scores, targets = np.array([[0.5], [0.6]]), np.array([[0], [1]])
    assert best_threshold(scores, targets) == 0.5
