"""Random targets and predictions."""

import numpy as np

RANDOM = np.random.default_rng(0)


def sample(num_classes, rows=100):
    y_true = RANDOM.integers(0, num_classes, rows)
    logits = RANDOM.normal(size=(rows, num_classes)).astype("float32")
    logits[np.arange(rows), y_true] += 1
    return y_true, logits, RANDOM.uniform(0, 3, rows).astype("float32")
