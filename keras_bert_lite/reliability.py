"""How far the confidence of answers agrees with how often they are right."""

from typing import NamedTuple

import numpy as np

BINS = 15


class Reliability(NamedTuple):
    """Answers in K bins of equal width between the confidences 0 and 1.

    Attributes:
        counts: The number of answers in each bin, `(K,)`.
        confidences: The sums of their confidences, `(K,)`.
        right: The numbers of right answers, `(K,)`.
    """

    counts: np.ndarray
    confidences: np.ndarray
    right: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error.

        It is the distance of mean confidence and accuracy, averaged over the answers
        of all bins.

        Reference: [Guo et al., 2017](https://arxiv.org/abs/1706.04599), equation 5.
        """
        distances = np.abs(self.confidences - self.right)
        return float(distances.sum() / self.counts.sum())


def reliability(
    confidences: np.ndarray, right: np.ndarray, bins: int = BINS
) -> Reliability:
    """Puts answers into bins by their confidence.

    Args:
        confidences: Probabilities `(N,)`.
        right: Whether each answer was right, `(N,)`.
        bins: The number of bins, K.
    """
    places = np.minimum((confidences * bins).astype(int), bins - 1)
    parts = (np.ones(len(places)), confidences, right.astype(float))
    return Reliability(*(np.bincount(places, x, bins) for x in parts))
