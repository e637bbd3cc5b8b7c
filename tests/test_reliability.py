"""Answers in bins by their confidence."""

import numpy as np
import pytest

from keras_bert_lite.reliability import reliability


def test_the_error_of_bins():
    confidences = np.array([0.95, 0.95, 0.55, 0.55])
    right = np.array([True, False, True, True])
    # One bin is 0.45 too sure, the other 0.45 too unsure.
    assert reliability(confidences, right).error == pytest.approx(0.45)
    assert reliability(confidences, right, bins=1).error == pytest.approx(0.0)


def test_the_bins():
    found = reliability(np.array([0.0, 0.2, 1.0]), np.array([False, True, True]), 5)
    assert found.counts.tolist() == [1, 1, 0, 0, 1]
    assert found.confidences.tolist() == [0.0, 0.2, 0.0, 0.0, 1.0]
    assert found.right.tolist() == [0, 1, 0, 0, 1]
