"""Assigning tensors to variables; all are checked before any is assigned."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from keras_bert_lite.checkpoints.core.name_table import Target

# Tables with more weights are read in parts: to assign an array, TensorFlow makes two
# copies of it, in addition to the variable's own memory.
LARGE = 2**22
MOST_PARTS = 8  # each part copies the variable
FLOATS = ("F64", "F32", "F16", "BF16")


class TensorSource:
    """Tensors by name, read one at a time.

    Args:
        location: The file or object, for error messages.
    """

    def __init__(self, location: Any) -> None:
        self.location = location

    def names(self) -> list[str]:
        """Returns the names of all tensors."""
        raise NotImplementedError

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the stored shape of a tensor."""
        raise NotImplementedError

    def dtype(self, name: str) -> str:
        """Returns the dtype of a tensor: one of `FLOATS`, or another name."""
        raise NotImplementedError

    def read(self, name: str) -> np.ndarray:
        """Returns a tensor as float32.

        Raises:
            ValueError: See `as_float32`.
        """
        raise NotImplementedError

    def rows(self, name: str, step: int) -> Iterator[np.ndarray]:
        """Yields a tensor as float32, `step` rows at a time."""
        value = self.read(name)
        for start in range(0, len(value), step):
            yield value[start : start + step]


def as_float32(value: np.ndarray, name: str, location: Any) -> np.ndarray:
    """Returns a tensor as float32.

    Args:
        value: The tensor, of any float dtype.
        name: Its name, for error messages.
        location: Its file or object, for error messages.

    Raises:
        ValueError: If a finite value is too large for float32.
    """
    with np.errstate(over="ignore"):
        found = value.astype(np.float32, copy=False)
    if value.dtype == np.float64:
        lost = np.isfinite(value) & ~np.isfinite(found)
        if lost.any():
            raise ValueError(
                f"{location}: the tensor {name!r} must have numbers that float32 can "
                f"hold. Received: {value[lost].flat[0]}"
            )
    return found


@dataclasses.dataclass(frozen=True)
class Filled:
    """The tensors to warn about after `fill`.

    Args:
        unused: Names of tensors without a target.
        not_finite: Names of tensors with NaN or infinite values.
    """

    unused: list[str]
    not_finite: list[str]

    def remarks(self) -> list[str]:
        """Returns the predicates of a warning about the checkpoint: "has ..."."""
        remarks = []
        if self.unused:
            remarks.append(
                f"has {len(self.unused)} weights that are not used: "
                f"{sorted(self.unused)}"
            )
        if self.not_finite:
            remarks.append(
                f"has NaN or infinite numbers in {len(self.not_finite)} weights: "
                f"{sorted(self.not_finite)[:5]}"
            )
        return remarks


def fill(
    source: TensorSource,
    targets: Mapping[str, Target],
    is_optional: Callable[[str], bool] = lambda name: True,
) -> Filled:
    """Checks every tensor, then assigns every variable.

    Args:
        source: The tensors.
        targets: The target of each tensor, by name.
        is_optional: Whether a tensor without a target may stay unused.

    Returns:
        The names of unused tensors, and of tensors with NaN or infinite values,
        which are assigned as they are.

    Raises:
        ValueError: If a tensor is missing, has the wrong shape, is not a float or
            exceeds the range of float32, or has no target though it is not
            optional. No variable has been changed in that case.
    """
    _check_names(source, targets, is_optional)
    for name, target in targets.items():
        _check_tensor(source, name, target)
    not_finite = []
    for name, target in targets.items():
        if not _assign(source, name, target):
            not_finite.append(name)
    unused = [name for name in source.names() if name not in targets]
    return Filled(unused, not_finite)


def _assign(source: TensorSource, name: str, target: Target) -> bool:
    """Assigns a tensor, and returns whether all its values are finite."""
    shape = source.shape(name)
    size = math.prod(shape)
    if size <= LARGE or not target.is_table:
        value = source.read(name)
        target.assign(value)
        return bool(np.isfinite(value).all())
    step = max(LARGE * shape[0] // size, shape[0] // MOST_PARTS, 1)
    finite = True
    for i, rows in enumerate(source.rows(name, step)):
        target.assign_rows(i * step, rows)
        finite = finite and bool(np.isfinite(rows).all())
    return finite


def _check_names(
    source: TensorSource,
    targets: Mapping[str, Target],
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


def _check_tensor(source: TensorSource, name: str, target: Target) -> None:
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
    if dtype == "F64":
        source.read(name)  # refuses values out of the range of float32
