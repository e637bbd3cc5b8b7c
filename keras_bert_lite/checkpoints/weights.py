"""The tensors of a checkpoint, checked before any is used."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

# Tensors that carry no weights of their own.
BUFFERS = re.compile(r"embeddings\.(position_ids|token_type_ids)$")
FLOATS = ("F64", "F32", "F16", "BF16")
# Heads of the architecture, which an encoder may leave unused.
HEADS = re.compile(r"(classifier|qa_outputs|cls)\.")


class Weights:
    """The tensors of a checkpoint, by names without `bert.` in front.

    Raises:
        ValueError: If the file is missing or is not a safetensors file.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.path = directory / "model.safetensors"
        if not self.path.is_file():
            raise ValueError(f"{self.path} is missing. {_other_weights(directory)}")
        try:
            self._file = safetensors.safe_open(self.path, framework="numpy")
        except Exception as error:  # SafetensorError, OSError
            raise ValueError(f"{self.path} cannot be read: {error}") from error
        stored = self._file.keys()
        self._stored = {_canonical(name): name for name in stored}
        if len(self._stored) < len(stored):
            raise ValueError(f"{self.path} has tensors both with and without prefix.")

    def __enter__(self) -> "Weights":
        self._file.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._file.__exit__(*exception)

    @property
    def has_pooler(self) -> bool:
        return any(name.startswith("pooler.dense.") for name in self._stored)

    def read(self, name: str) -> np.ndarray:
        return self._file.get_tensor(self._stored[name]).astype(np.float32)

    def check(self, shapes: dict[str, tuple[int, ...]]) -> None:
        """Refuses missing, misshapen and unknown tensors."""
        missing = sorted(set(shapes) - set(self._stored))
        if missing:
            raise ValueError(f"{self.path} lacks {len(missing)} tensors: {missing[:5]}")
        for name, shape in shapes.items():
            tensor = self._file.get_slice(self._stored[name])
            stored = tuple(tensor.get_shape())
            if tensor.get_dtype() not in FLOATS:
                raise ValueError(
                    f"{self.path}: the tensor {name!r} must be one of {FLOATS}. "
                    f"Received: {tensor.get_dtype()}"
                )
            if stored != shape:
                raise ValueError(
                    f"{self.path}: the tensor {name!r} must have the shape {shape}. "
                    f"Received: {stored}"
                )
        extra = [x for x in self.unused(shapes) if not self._is_unused_part(x)]
        if extra:
            raise ValueError(
                f"{self.path} has {len(extra)} tensors that the configuration does "
                f"not account for: {sorted(extra)[:5]}"
            )

    def unused(self, targets: dict[str, Any]) -> list[str]:
        names = (name for name in self._stored if name not in targets)
        return sorted(name for name in names if not BUFFERS.search(name))

    def warn_unused(self, targets: dict[str, Any]) -> None:
        unused = self.unused(targets)
        if unused:
            warnings.warn(
                f"{self.path}: these weights are not used: {unused}", stacklevel=3
            )

    def _is_unused_part(self, name: str) -> bool:
        return bool(HEADS.match(name)) or name.startswith("pooler.dense.")


def _canonical(name: str) -> str:
    """Strips the prefix, and the names that LayerNorm had in TensorFlow."""
    name = name.removeprefix("bert.")
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def _other_weights(directory: Path) -> str:
    pickles = sorted(p.name for p in directory.glob("*.bin"))
    if not pickles:
        return "A checkpoint is a directory with config.json and model.safetensors."
    return (
        f"{pickles[0]} is a pickle, which is never loaded. Convert it where you trust "
        "it: AutoModel.from_pretrained(directory).save_pretrained(directory)"
    )
