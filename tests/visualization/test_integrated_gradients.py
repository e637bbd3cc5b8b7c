"""Quadrature on functions whose integrals are known."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.visualization.integrated_gradients import Integral, integrate

VECTORS = tf.constant([[1.0, 2.0], [3.0, -1.0]])
BASELINE = tf.constant([[0.0, 1.0], [3.0, 0.0]])


def run(score, **changes):
    options = {"steps": 4, "max_steps": 64, "tolerance": 0.01, "batch_size": 3}
    return integrate(score, VECTORS, BASELINE, **{**options, **changes})


def test_squares():
    found = run(lambda x: tf.reduce_sum(x**2, (1, 2)))
    assert (found.score, found.baseline_score, found.steps) == (15, 10, 4)
    np.testing.assert_allclose(found.attributions, [4, 1], atol=1e-6)
    assert found.error < 1e-6


def test_points_are_doubled_until_complete():
    """A steep step in the middle of the path."""
    sizes = []

    def score(x):
        sizes.append(x.shape[0])
        return tf.tanh(20 * (x[:, 0, 0] - 0.4))

    found = run(score)
    assert found.steps > 4
    assert found.error <= 0.01
    np.testing.assert_allclose(found.attributions, [2, 0], atol=0.02)
    assert max(sizes) == 3
    assert run(score, max_steps=found.steps - 1).error > 0.01


def test_errors_are_relative_to_the_difference():
    sums = np.array([1.0, 0.5])
    assert Integral(sums, 3.0, 1.0, 50).error == pytest.approx(0.25)
    assert Integral(sums, 1.0, 3.0, 50).error == pytest.approx(1.75)
    assert Integral(sums, 1.0, 1.0, 50).error == np.inf
    assert Integral(np.zeros(2), 1.0, 1.0, 50).error == 0
