"""The bias with which a head predicts how often labels occur."""

from collections.abc import Callable, Sequence

import numpy as np

from keras_bert_lite.layers import ClassificationHead

LEAST = 1e-4  # keeps the logarithm of a label that no row has finite


def logs(shares: np.ndarray) -> np.ndarray:
    """Returns the logits whose softmax is the shares."""
    return np.log(_clipped(shares))


def log_odds(shares: np.ndarray) -> np.ndarray:
    """Returns the logits whose sigmoids are the shares."""
    return np.log(_clipped(shares)) - np.log(1 - _clipped(shares))


def start_from(
    head: ClassificationHead,
    shares: Sequence[float] | None,
    bias: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Sets the bias of a built head; `None` leaves it at 0.

    Raises:
        ValueError: If there is not one share, from 0 to 1, for each label.
    """
    if shares is None:
        return
    values = np.asarray(shares)
    numbers = values.dtype.kind in "fi" and values.shape == (head.units,)
    if not numbers or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(
            "`label_shares` must be a number from 0 to 1 for each of the labels "
            f"{head.labels}. Received: {shares!r:.100}"
        )
    head.dense.bias.assign(bias(values))


def _clipped(shares: np.ndarray) -> np.ndarray:
    return np.clip(shares, LEAST, 1 - LEAST)
