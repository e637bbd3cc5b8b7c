"""Reading the variables of TensorFlow checkpoints, one at a time."""

import glob
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checkpoints.core.tensors import TensorSource, as_float32

INDEX = ".index"
TYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
# Variables of optimizers and training loops.
SLOTS = re.compile(
    r"(^|/)(adam_[mv]|Adam(_1)?|LAMB(_1)?|lamb_[mv]|[mv]|global_step|beta[12]_power|"
    r"ExponentialMovingAverage|loss_scale|good_steps|bad_steps)$"
)


class TensorFlowSource(TensorSource):
    """The variables of a checkpoint: an index and its data files.

    Args:
        prefix: The path without `.index`, such as `.../bert_model.ckpt`.
        keys: The key of each variable, by its name. By default the keys are the
            names, and optimizer variables are left out.

    Raises:
        ValueError: If the index cannot be read, or lists more than the data
            files hold.
    """

    def __init__(self, prefix: Path, keys: Mapping[str, str] | None = None) -> None:
        super().__init__(prefix)
        with self._readable():
            self._reader = tf.train.load_checkpoint(str(prefix))
            self._shapes = self._reader.get_variable_to_shape_map()
            self._dtypes = self._reader.get_variable_to_dtype_map()
        files = prefix.parent.glob(f"{glob.escape(prefix.name)}.data-*")
        self.stored_bytes = sum(path.stat().st_size for path in files)
        self._check_data()
        if keys is None:
            keys = {name: name for name in self._shapes if not SLOTS.search(name)}
        self._keys = dict(keys)

    def names(self) -> list[str]:
        return sorted(self._keys)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._shapes[self._keys[name]])

    def dtype(self, name: str) -> str:
        dtype = self._dtypes[self._keys[name]].name
        return TYPES.get(dtype, dtype)

    def read(self, name: str) -> np.ndarray:
        return as_float32(self.stored(self._keys[name]), name, self.location)

    def stored(self, key: str) -> Any:
        """Returns the raw value stored under a key.

        Raises:
            ValueError: If it cannot be read.
        """
        with self._readable(f": {key!r}"):
            return self._reader.get_tensor(key)

    def has(self, start: str) -> bool:
        """Returns whether any variable name starts with `start`."""
        return any(name.startswith(start) for name in self._keys)

    def size(self, name: str, axis: int) -> int:
        """Returns the length of one axis of a variable.

        Raises:
            ValueError: If there is no such variable, or no such axis.
        """
        shape = self.shape(name) if name in self._keys else None
        if shape is None:
            raise ValueError(f"{self.location} lacks the variable {name!r}.")
        if axis >= len(shape):
            raise ValueError(
                f"{self.location}: the variable {name!r} must have at least "
                f"{axis + 1} axes. Received: the shape {shape}"
            )
        return shape[axis]

    def count(self, pattern: str) -> int:
        """Returns how many distinct values `{i}` takes in the variable names."""
        expression = re.compile(re.escape(pattern).replace(r"\{i\}", r"(\d+)"))
        matches = (expression.match(name) for name in self._keys)
        return len({match[1] for match in matches if match})

    def _check_data(self) -> None:
        """Checks that the data files are large enough for the shapes in the index."""
        listed = sum(
            math.prod(shape) * self._dtypes[key].size
            for key, shape in self._shapes.items()
            if self._dtypes[key].name in TYPES
        )
        if listed > self.stored_bytes:
            raise ValueError(
                f"{self.location} cannot be read, so the checkpoint is broken or "
                f"incomplete: its index lists {listed} bytes. Received: data files of "
                f"{self.stored_bytes} bytes"
            )

    @contextmanager
    def _readable(self, what: str = "") -> Iterator[None]:
        try:
            yield
        except Exception as error:  # OpError, IndexError, ...: depends on the damage
            raise ValueError(
                f"{self.location}{what} cannot be read, so the checkpoint is broken "
                f"or incomplete: {error}"
            ) from error


def checkpoint_prefix(directory: Path) -> Path:
    """Returns the prefix of the only checkpoint in a directory.

    Raises:
        ValueError: If there is none, or more than one.
    """
    indexes = sorted(path.name for path in directory.glob(f"*{INDEX}"))
    if len(indexes) != 1:
        raise ValueError(
            f"{directory} must hold one checkpoint: one file that ends in {INDEX}. "
            f"Received: {indexes or 'none'}"
        )
    return directory / indexes[0].removesuffix(INDEX)
