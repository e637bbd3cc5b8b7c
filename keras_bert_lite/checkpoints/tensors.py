"""From the tensors of a checkpoint to variables, all checked before any is set."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from keras_bert_lite.checkpoints.names import AnyTarget, Target

# A table of more weights than these is read by parts: TensorFlow takes two copies of
# an array to assign it, besides the variable's own memory.
LARGE = 2**22
MOST_PARTS = 8  # each of which copies the variable
FLOATS = ("F64", "F32", "F16", "BF16")


class TensorSource:
    """Tensors by name, of which one at a time is read.

    Args:
        location: The file or object, for messages.
    """

    def __init__(self, location: Any) -> None:
        self.location = location

    def names(self) -> list[str]:
        """Returns the names of all tensors."""
        raise NotImplementedError

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of a tensor as it is stored."""
        raise NotImplementedError

    def dtype(self, name: str) -> str:
        """Returns the type of a tensor: one of `FLOATS`, or another name."""
        raise NotImplementedError

    def read(self, name: str) -> np.ndarray:
        """Returns a tensor as float32."""
        raise NotImplementedError

    def rows(self, name: str, step: int) -> Iterator[np.ndarray]:
        """Yields a tensor as float32, `step` rows at a time."""
        value = self.read(name)
        for start in range(0, len(value), step):
            yield value[start : start + step]


def fill(
    source: TensorSource,
    targets: Mapping[str, AnyTarget],
    is_optional: Callable[[str], bool] = lambda name: True,
) -> list[str]:
    """Checks every tensor, then sets every variable.

    Args:
        source: The tensors.
        targets: Where each goes, by name.
        is_optional: Whether a tensor without a target may stay unused.

    Returns:
        The names of the tensors that stay unused.

    Raises:
        ValueError: If a tensor is missing, misshapen or not of floats, or has
            no target though it is not optional. No variable has changed then.
    """
    _check_names(source, targets, is_optional)
    for name, target in targets.items():
        _check_tensor(source, name, target)
    for name, target in targets.items():
        _assign(source, name, target)
    return [name for name in source.names() if name not in targets]


def _assign(source: TensorSource, name: str, target: AnyTarget) -> None:
    shape = source.shape(name)
    size = math.prod(shape)
    if size <= LARGE or not isinstance(target, Target) or not target.is_table:
        target.assign(source.read(name))
        return
    step = max(LARGE * shape[0] // size, shape[0] // MOST_PARTS, 1)
    for i, rows in enumerate(source.rows(name, step)):
        target.assign_rows(i * step, rows)


def _check_names(
    source: TensorSource,
    targets: Mapping[str, AnyTarget],
    is_optional: Callable[[str], bool],
) -> None:
    stored = set(source.names())
    missing = sorted(set(targets) - stored)
    if missing:
        raise ValueError(
            f"{source.location} lacks {len(missing)} tensors: {missing[:5]}"
        )
    extra = sorted(x for x in stored - set(targets) if not is_optional(x))
    if extra:
        raise ValueError(
            f"{source.location} has {len(extra)} tensors that the configuration does "
            f"not account for: {extra[:5]}"
        )


def _check_tensor(source: TensorSource, name: str, target: AnyTarget) -> None:
    dtype, shape = source.dtype(name), source.shape(name)
    if dtype not in FLOATS:
        raise ValueError(
            f"{source.location}: the tensor {name!r} must be one of {FLOATS}. "
            f"Received: {dtype}"
        )
    if shape != target.stored_shape:
        raise ValueError(
            f"{source.location}: the tensor {name!r} must have the shape "
            f"{target.stored_shape}. Received: {shape}"
        )
