"""The threshold of several labels."""

import numpy as np

STEP = 0.01  # between two thresholds
BOUNDS = (0.05, 0.95)


def best_threshold(scores: np.ndarray, targets: np.ndarray) -> float:
    """Returns the threshold with the best micro F1.

    One threshold serves all labels: one for each would be fitted to a handful of rows.

    Args:
        scores: Probabilities `(N, L)`.
        targets: 0 and 1 `(N, L)`.
    """
    candidates = np.arange(BOUNDS[0], BOUNDS[1] + STEP / 2, STEP)
    found = [scores > threshold for threshold in candidates]
    f1 = [2 * (x * targets).sum() / max(x.sum() + targets.sum(), 1) for x in found]
    return float(round(candidates[int(np.argmax(f1))], 2))
