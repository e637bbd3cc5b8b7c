"""The integral of a score's gradients on a straight path between two inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from keras_bert_lite._tensorflow import tf

Score: TypeAlias = "Callable[[tf.Tensor], tf.Tensor]"  # points (K, ...) -> scores (K,)


class Integral(NamedTuple):
    """The result of `integrate`.

    Attributes:
        attributions: Those of each vector, float64, `(...)`.
        score, baseline_score: The scores of the vectors and of the baseline.
        steps: The number of points on the path.
    """

    attributions: np.ndarray
    score: float
    baseline_score: float
    steps: int

    @property
    def error(self) -> float:
        """How far the attributions are from complete.

        By completeness, they sum to the difference of the two scores. The error is
        the absolute difference from it, relative to its own absolute value.
        """
        whole = self.score - self.baseline_score
        missing = abs(float(self.attributions.sum()) - whole)
        return missing / abs(whole) if whole else (np.inf if missing else 0.0)


def integrate(
    score: Score,
    vectors: tf.Tensor,
    baseline: tf.Tensor,
    steps: int,
    max_steps: int,
    tolerance: float,
    batch_size: int,
) -> Integral:
    """Returns the integrated gradients of a score.

    The attribution of a vector x with the baseline b is the sum over its elements of
    `(x - b) * integral of d score / d x from b to x`, by Gauss-Legendre quadrature. The
    number of points is doubled until the error is at most `tolerance`.

    Args:
        score: Scores K points, `(K, ..., E)` -> `(K,)`; each depends on its own point.
        vectors, baseline: Of shape `(..., E)`.
        steps: The number of points of the first attempt.
        max_steps: The most points of an attempt.
        tolerance: The error to reach.
        batch_size: How many points are computed at once.

    Reference: [Sundararajan et al., 2017](https://arxiv.org/abs/1703.01365).
    """
    difference = vectors - baseline
    first, last = (float(x) for x in score(tf.stack([vectors, baseline])))
    while True:
        sums = np.zeros(vectors.shape[:-1])
        for places, weights in _batches(steps, batch_size):
            points = baseline + _behind(places, vectors) * difference
            with tf.GradientTape() as tape:
                tape.watch(points)
                total = tf.reduce_sum(score(points))
            slopes = tf.reduce_sum(tape.gradient(total, points) * difference, -1)
            sums += np.tensordot(weights, slopes.numpy().astype(np.float64), 1)
        found = Integral(sums, first, last, steps)
        if found.error <= tolerance or 2 * steps > max_steps:
            return found
        steps *= 2


def _batches(steps: int, size: int):
    """Yields points in [0, 1] and their weights, some at a time."""
    places, weights = np.polynomial.legendre.leggauss(steps)
    places, weights = (places + 1) / 2, weights / 2
    for i in range(0, steps, size):
        yield places[i : i + size], weights[i : i + size]


def _behind(places: np.ndarray, like: tf.Tensor) -> tf.Tensor:
    """Returns places `(K,)` with an axis of 1 for each of `like`'s."""
    shape = (-1, *[1] * like.shape.rank)
    return tf.constant(places.reshape(shape), like.dtype)
