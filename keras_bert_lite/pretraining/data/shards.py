"""The files of pretraining data, written atomically."""

import hashlib
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert_lite._files import replaced_file, write_text
from keras_bert_lite._tensorflow import tf

SETTINGS, INDEX = "settings.json", "index.json"
SHARD = ".tfrecord"
BLOCK = 1 << 20  # bytes read at a time
# Errors from reading damaged JSON.
DAMAGED = (ValueError, TypeError, KeyError)


class Shard(NamedTuple):
    """The name, size and origin of a file of rows."""

    name: str
    rows: int
    tokens: int
    bytes: int
    checksum: int
    source: str  # digest of its text and recipe

    def has_its_size(self, directory: Path) -> bool:
        path = directory / self.name
        return path.is_file() and path.stat().st_size == self.bytes

    def is_whole(self, directory: Path) -> bool:
        """Whether the file is bit for bit as it was written."""
        same = self.has_its_size(directory)
        return same and _checksum(directory / self.name) == self.checksum


def shard_name(number: int) -> str:
    return f"{number:06}{SHARD}"


def marker(name: str) -> str:
    """Returns the name of the file that marks a shard as complete."""
    return str(Path(name).with_suffix(".json"))


def write_shard(
    directory: Path, number: int, examples: Sequence[bytes], tokens: int, source: str
) -> Shard:
    """Writes a shard atomically, then a JSON file that marks it as complete.

    Raises:
        OSError: If it cannot be written, as on a full disk; no partial file is left.
    """
    path = directory / shard_name(number)
    try:
        with replaced_file(path, tidy=False) as beside:
            with tf.io.TFRecordWriter(str(beside)) as writer:
                for example in examples:
                    writer.write(example)
            size, checksum = beside.stat().st_size, _checksum(beside)
    except (OSError, tf.errors.OpError) as error:
        raise OSError(f"{path}: cannot be written. Received: {error}") from error
    shard = Shard(path.name, len(examples), tokens, size, checksum, source)
    write_text(directory / marker(path.name), json.dumps(shard._asdict()), tidy=False)
    return shard


class WholeShards:
    """Finds the intact shards of complete or unfinished data.

    Args:
        directory: The directory of the data.
        source: The digest of text and recipe; shards with another one are ignored.
    """

    def __init__(self, directory: Path, source: str) -> None:
        self.directory, self.source = directory, source
        self._done = {shard.name: shard for shard in _if_whole(directory)}

    def __call__(self, number: int) -> Shard | None:
        name = shard_name(number)
        shard = self._done.get(name) or self._alone(name)
        if shard is None or shard.source != self.source:
            return None
        return shard if shard.is_whole(self.directory) else None

    def _alone(self, name: str) -> Shard | None:
        path = self.directory / marker(name)
        if not path.is_file():
            return None
        try:
            return Shard(**json.loads(path.read_text(encoding="utf-8")))
        except DAMAGED:
            return None


def write_index(directory: Path, shards: Sequence[Shard]) -> None:
    """Writes the index, which marks the data as complete; removes shards' markers."""
    text = json.dumps({"shards": [shard._asdict() for shard in shards]})
    write_text(directory / INDEX, text)
    for shard in shards:
        (directory / marker(shard.name)).unlink(missing_ok=True)


def is_done(directory: Path, source: str) -> bool:
    """Whether there is an index whose shards are all intact and from this source."""
    shards = _if_whole(directory)
    return bool(shards) and all(
        shard.source == source and shard.is_whole(directory) for shard in shards
    )


def read_index(directory: Path, argument: str = "directory") -> list[Shard]:
    """Returns the shards of complete data.

    Args:
        directory: The directory of the data.
        argument: Its name in error messages.

    Raises:
        FileNotFoundError: If there are no data, or they are unfinished.
        ValueError: If the index is damaged, or a shard is missing or has another
            size.
    """
    shards = _indexed(directory)
    if not shards:
        begun = (directory / SETTINGS).is_file()
        state = "unfinished data: run the command again" if begun else "none"
        raise FileNotFoundError(
            f"`{argument}` must hold pretraining data. Received: {str(directory)!r}, "
            f"with {state}"
        )
    for shard in shards:
        if not shard.has_its_size(directory):
            raise ValueError(
                f"{directory / shard.name}: must have {shard.bytes} bytes. To make "
                "the shard again, write the pretraining data again"
            )
    return shards


def check_records(directory: Path) -> None:
    """Reads every record of every shard.

    Raises:
        ValueError: If one is damaged.
    """
    for shard in read_index(directory):
        path = directory / shard.name
        try:
            for _ in tf.data.TFRecordDataset(str(path)):
                pass
        except tf.errors.DataLossError as error:
            raise ValueError(
                f"{path}: is damaged; to make it again, write the pretraining data "
                f"again. Received: {error.message}"
            ) from error


def digest(directory: Path) -> str:
    """Returns a digest of the index, which identifies the data."""
    return hashlib.sha256((directory / INDEX).read_bytes()).hexdigest()


def read_settings(directory: Path) -> dict[str, Any]:
    """Returns the settings of the data: `files` and `recipe`.

    Raises:
        ValueError: If the settings file is damaged.
    """
    path = directory / SETTINGS
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return {name: values[name] for name in ("files", "recipe")}
    except DAMAGED as error:
        raise ValueError(
            f"{path}: is damaged; delete it and write the pretraining data again. "
            f"Intact shards of the same text and recipe are kept. Received: {error!r}"
        ) from error


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            value = zlib.crc32(block, value)
    return value


def _indexed(directory: Path) -> list[Shard]:
    """Returns the shards in the index, none if there is no index."""
    path = directory / INDEX
    if not path.is_file():
        return []
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return [Shard(**value) for value in values["shards"]]
    except DAMAGED as error:
        raise ValueError(
            f"{path}: is damaged; to make it again, write the pretraining data again. "
            f"Received: {error!r}"
        ) from error


def _if_whole(directory: Path) -> list[Shard]:
    """Returns the shards in the index, none if it is missing or damaged."""
    try:
        return _indexed(directory)
    except ValueError:
        return []
