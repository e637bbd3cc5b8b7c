"""Reading the tensors of model.safetensors, in one file or in shards."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.core.tensors import FLOATS, TensorSource, as_float32
from keras_bert_lite.checkpoints.sources import is_name, read_json

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
INDEX_KEYS = Keys(followed=("weight_map",), ignored=("metadata",))
PICKLES = (".bin", ".pt", ".pth", ".pkl")
# Stored tensors that are not weights.
BUFFERS = re.compile(r"embeddings\.(position_ids|token_type_ids)$")


class Stored(NamedTuple):
    """A tensor's file, name, shape and dtype."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: str


class SafetensorsSource(TensorSource):
    """The weights of a directory in Hugging Face layout.

    Args:
        directory: A directory with model.safetensors, or with
            model.safetensors.index.json and its shards. As in transformers,
            tensors of a shard that the index does not list are read too.
        prefix: The prefix to strip from names, such as `bert.`.
        aliases: Alternative names of tensors: alias -> name. An alias is used if
            the tensor is not stored under its name.
        tied: Whether an alias and its tensor must be equal if both are stored.

    Raises:
        ValueError: If a file is missing or is not a safetensors file, the index
            does not match the shards, or two tensors have the same name.
    """

    def __init__(
        self,
        directory: Path,
        prefix: str = "",
        aliases: Mapping[str, str] = {},
        tied: bool = True,
    ) -> None:
        files = _files(directory)
        super().__init__(directory / (WEIGHTS if len(files) == 1 else INDEX))
        self._stored: dict[str, Stored] = {}
        for path, expected in files.items():
            for tensor in _tensors(path, expected):
                self._add(tensor, prefix)
        for alias, name in aliases.items():
            self._resolve(alias, name, tied)

    def names(self) -> list[str]:
        return sorted(self._stored)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._stored[name].shape

    def dtype(self, name: str) -> str:
        return self._stored[name].dtype

    def read(self, name: str) -> np.ndarray:
        return _value(self._stored[name])

    def rows(self, name: str, step: int) -> Iterator[np.ndarray]:
        path, name, shape, _ = self._stored[name]
        for start in range(0, shape[0], step):
            rows = slice(start, min(start + step, shape[0]))
            # Opened for each part: the memory is released only when the file is closed.
            with _opened(path) as file:
                value = file.get_slice(name)[rows]
            yield as_float32(value, name, path)

    def _add(self, tensor: Stored, prefix: str) -> None:
        name = _canonical(tensor.name).removeprefix(prefix)
        if BUFFERS.search(name):
            return
        if name in self._stored:
            raise ValueError(
                f"{tensor.path}: the tensor {tensor.name!r} is there twice, with "
                f"and without the prefix {prefix!r} or in two shards."
            )
        self._stored[name] = tensor

    def _resolve(self, alias: str, name: str, tied: bool) -> None:
        if alias not in self._stored:
            return
        if name not in self._stored:
            self._stored[name] = self._stored.pop(alias)
            return
        tensor, other = self._stored.pop(alias), self._stored[name]
        if not tied:  # transformers stores the alias, but reads the other
            return
        if not _same(tensor, other):
            raise ValueError(
                f"{tensor.path}: the tensors {tensor.name!r} and {other.name!r} must "
                "be equal, since the configuration ties them "
                "(`tie_word_embeddings`). Received: two different tensors"
            )


def _same(tensor: Stored, other: Stored) -> bool:
    if tensor.shape != other.shape or not {tensor.dtype, other.dtype} <= set(FLOATS):
        return False
    return np.array_equal(_value(tensor), _value(other), equal_nan=True)


def _value(tensor: Stored) -> np.ndarray:
    with _opened(tensor.path) as file:
        value = file.get_tensor(tensor.name)
    return as_float32(value, tensor.name, tensor.path)


def _opened(path: Path) -> Any:
    import safetensors  # imported here because it is rarely needed

    return safetensors.safe_open(path, framework="numpy")


def _canonical(name: str) -> str:
    """Replaces TensorFlow's names of the LayerNorm weights, and leaves out the names
    that PyTorch's `DataParallel` and `compile` add."""
    name = name.replace("_orig_mod.", "")
    while name.startswith("module."):
        name = name.removeprefix("module.")
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def _files(directory: Path) -> dict[Path, set[str] | None]:
    """Returns the weight files, each with the tensor names it must hold."""
    single = directory / WEIGHTS
    if os.path.isfile(single):
        return {single: None}
    if os.path.isfile(directory / INDEX):
        return _shards(directory)
    raise ValueError(f"{single} is missing or not a file. {_other_weights(directory)}")


def _shards(directory: Path) -> dict[Path, set[str] | None]:
    path = directory / INDEX
    raw = read_json(path)
    INDEX_KEYS.check(raw, path)
    weight_map = raw.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ValueError(
            f"{path}: `weight_map` must map tensors to files. "
            f"Received: {type(weight_map).__name__}"
        )
    shards: dict[Path, set[str] | None] = {}
    for tensor, file in weight_map.items():
        # Plain names only: an index must not refer to files outside its directory.
        if not is_name(file):
            raise ValueError(
                f"{path}: the file of {tensor!r} must be a name in the same "
                f"directory. Received: {file!r}"
            )
        if file.lower().endswith(PICKLES):
            raise ValueError(f"{path}: {_advice(file)}")
        shard = directory / file
        if not os.path.isfile(shard):  # `Path.is_file` raises for a long name
            raise ValueError(f"{path}: the shard {file!r} of {tensor!r} is missing.")
        names = shards.setdefault(shard, set())
        assert names is not None
        names.add(tensor)
    return shards


def _tensors(path: Path, expected: Iterable[str] | None) -> list[Stored]:
    try:
        with _opened(path) as file:
            tensors = [_stored(file, path, name) for name in file.keys()]  # noqa: SIM118
    except Exception as error:  # SafetensorError, OSError
        raise ValueError(f"{path} cannot be read: {error}") from error
    if expected is not None:
        missing = sorted(set(expected) - {tensor.name for tensor in tensors})
        if missing:
            raise ValueError(
                f"{path} lacks {len(missing)} tensors that {INDEX} names: {missing[:5]}"
            )
    return tensors


def _stored(file: Any, path: Path, name: str) -> Stored:
    tensor = file.get_slice(name)
    return Stored(path, name, tuple(tensor.get_shape()), tensor.get_dtype())


def _other_weights(directory: Path) -> str:
    pickles = sorted(p.name for p in directory.glob("*.bin"))
    if not pickles:
        return "A checkpoint is a directory with config.json and model.safetensors."
    return _advice(pickles[0])


def _advice(pickle: str) -> str:
    return (
        f"{pickle} is a pickle, which is never loaded. Convert it if you trust "
        "it: AutoModel.from_pretrained(directory).save_pretrained(directory)"
    )
