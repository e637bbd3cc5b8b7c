"""How logits become probabilities, and how good these are."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Probabilities(NamedTuple):
    """How logits `(N, L)` become probabilities.

    Args:
        loss: The mean loss of logits, given targets `(N, 1)` or `(N, L)`. The targets
            are smoothed by 1 / (N + 2).
        confidences: The probabilities of the answers, and whether they were right.
    """

    loss: Callable[[np.ndarray, np.ndarray], float]
    confidences: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _smoothing(targets: np.ndarray) -> float:
    """Returns the share of a target that other labels get."""
    return 1 / (len(targets) + 2)


def _cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    from scipy.special import log_softmax  # slow to import

    logs, share = log_softmax(logits, axis=1), _smoothing(targets)
    right = np.take_along_axis(logs, targets.astype(int), 1).mean()
    return float(-(1 - share) * right - share * logs.mean())


def _of_best(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import softmax  # slow to import

    return softmax(logits, axis=1).max(1), logits.argmax(1) == targets[:, 0]


def _binary_cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    share = _smoothing(targets)
    targets = share + (1 - 2 * share) * targets
    return float((np.logaddexp(0, logits) - targets * logits).mean())


def _of_all(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import expit  # slow to import

    probabilities = expit(logits)
    sure = np.maximum(probabilities, 1 - probabilities)
    return sure.ravel(), ((probabilities > 0.5) == (targets > 0.5)).ravel()


SOFTMAX = Probabilities(_cross_entropy, _of_best)
SIGMOID = Probabilities(_binary_cross_entropy, _of_all)
