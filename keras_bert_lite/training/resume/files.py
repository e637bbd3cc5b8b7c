"""A state as a file: values with their names and a checksum, whole or not there."""

import zlib
from pathlib import Path

import numpy as np

from keras_bert_lite._files import replaced_file

SUFFIX = ".safetensors"
CHECKSUM = "crc32"  # metadata key; the checksum covers all values
Values = dict[str, np.ndarray]


class NotWhole(Exception):
    """A state that is corrupt: its values are not those that were saved."""


def state_path(directory: Path, step: int) -> Path:
    return directory / f"step_{step:09}{SUFFIX}"


def step_of(path: Path) -> int:
    return int(path.stem.removeprefix("step_"))


def state_paths(directory: Path) -> list[Path]:
    """Returns the states in a directory, the oldest first."""
    return sorted(directory.glob(f"step_*{SUFFIX}"))


def write_state(path: Path, values: Values) -> None:
    """Writes a state atomically."""
    from safetensors.numpy import save_file  # imported only when needed

    with replaced_file(path, tidy=False) as beside:
        save_file(values, beside, {CHECKSUM: _checksum(values)})
        beside.chmod(0o644)  # safetensors makes it readable only by its owner


def read_state(path: Path) -> Values:
    """Reads a state.

    Raises:
        NotWhole: If it is corrupt.
        OSError: If it cannot be read.
    """
    from safetensors import SafetensorError, safe_open  # imported only when needed

    try:
        with safe_open(path, "numpy") as file:
            stated = (file.metadata() or {}).get(CHECKSUM)
            values = {x: file.get_tensor(x) for x in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise NotWhole(str(error)) from error
    if stated != _checksum(values):
        raise NotWhole(f"its {CHECKSUM} is {_checksum(values)}, not {stated}")
    return values


def _checksum(values: Values) -> str:
    """Returns a checksum of all values and their names."""
    result = 0
    for name, value in sorted(values.items()):
        result = zlib.crc32(f"{name} {value.dtype} {value.shape}".encode(), result)
        flat = np.ascontiguousarray(value).reshape(-1)
        result = zlib.crc32(flat.view(np.uint8).data, result)
    return f"{result:08x}"
