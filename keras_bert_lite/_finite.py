"""Numbers that are NaN or infinite, which nothing may choose, save or serve."""

from typing import Any

import keras
import numpy as np


class NotFinite(ValueError):
    """A loss, a weight, a vector or an answer is NaN or infinite.

    Args:
        rule: What must be finite.
        found: What is not.
    """

    def __init__(self, rule: str, found: str) -> None:
        super().__init__(f"{rule}. Received: {found}")
        self.found = found


def is_finite(value: Any, absent: Any = None) -> bool:
    """Whether a number, or an array of any type, holds nothing NaN or infinite.

    Args:
        value: The number or array.
        absent: What stands for nothing in it, and may be infinite.
    """
    array = np.asarray(value)
    if absent is not None:
        array = array[array != absent]
    # "V" are half-precision types that NumPy does not know by itself.
    return array.dtype.kind not in "fcV" or bool(np.isfinite(array).all())


def check_finite_weights(model: keras.layers.Layer, argument: str = "model") -> None:
    """Refuses a model whose training has diverged, or whose files are damaged.

    Args:
        model: A model or a layer.
        argument: Its name in the error message.

    Raises:
        NotFinite: If a weight holds NaN or infinity; the message has its path.
    """
    for weight in model.weights:
        if not bool(keras.ops.all(keras.ops.isfinite(weight))):
            rule = f"`{argument}` must have finite weights"
            raise NotFinite(rule, f"NaN or infinity in the weight {weight.path!r}")
