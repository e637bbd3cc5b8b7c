"""The files of pretraining data: written whole or not at all."""

import contextlib
import hashlib
import json
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

SETTINGS, INDEX = "settings.json", "index.json"
SHARD = ".tfrecord"
PART = ".part"  # ends the names of files that are being written
LEFT_OVER = 600  # seconds; no file takes as long to write


class Shard(NamedTuple):
    """What is known of a file of rows."""

    name: str
    rows: int
    tokens: int
    bytes: int
    source: str  # tells its text and recipe from others

    def is_whole(self, directory: Path) -> bool:
        path = directory / self.name
        return path.is_file() and path.stat().st_size == self.bytes


def shard_name(number: int) -> str:
    return f"{number:06}{SHARD}"


def write_shard(
    directory: Path, number: int, examples: Sequence[bytes], tokens: int, source: str
) -> Shard:
    """Writes rows beside, puts the file in its place, then says that it is done.

    Raises:
        OSError: If it cannot be written, as on a full disk; nothing of it stays.
    """
    path = directory / shard_name(number)
    beside = _beside(path)
    try:
        with tf.io.TFRecordWriter(str(beside)) as writer:
            for example in examples:
                writer.write(example)
        size = beside.stat().st_size
        beside.replace(path)
    except (OSError, tf.errors.OpError) as error:
        raise OSError(f"{path}: cannot be written. Received: {error}") from error
    finally:
        beside.unlink(missing_ok=True)
    shard = Shard(path.name, len(examples), tokens, size, source)
    write_text(path.with_suffix(".json"), json.dumps(shard._asdict()))
    return shard


class WholeShards:
    """Finds the shards that were written whole, in data that are done or not.

    Args:
        directory: Of the data.
        source: Of the text and the recipe; the shards of others are passed over.
    """

    def __init__(self, directory: Path, source: str) -> None:
        self.directory, self.source = directory, source
        self._done = {shard.name: shard for shard in _indexed(directory)}

    def __call__(self, number: int) -> Shard | None:
        name = shard_name(number)
        shard = self._done.get(name) or self._alone(name)
        if shard is None or shard.source != self.source:
            return None
        return shard if shard.is_whole(self.directory) else None

    def _alone(self, name: str) -> Shard | None:
        path = (self.directory / name).with_suffix(".json")
        if not path.is_file():
            return None
        return Shard(**json.loads(path.read_text(encoding="utf-8")))


def write_index(directory: Path, shards: Sequence[Shard]) -> None:
    """Says that all is done; the files that said so of each shard go."""
    text = json.dumps({"shards": [shard._asdict() for shard in shards]})
    write_text(directory / INDEX, text)
    for shard in shards:
        (directory / shard.name).with_suffix(".json").unlink(missing_ok=True)


def remove_left_over(directory: Path) -> None:
    """Deletes what killed writers left; what is new, one may be writing."""
    for path in directory.glob(f"*{PART}"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LEFT_OVER:
                path.unlink()


def is_done(directory: Path, source: str) -> bool:
    """Whether there is an index, and all that it tells of, from this source."""
    shards = _indexed(directory)
    return bool(shards) and all(
        shard.source == source and shard.is_whole(directory) for shard in shards
    )


def read_index(directory: Path, argument: str = "directory") -> list[Shard]:
    """Returns the shards of a directory that is done.

    Args:
        directory: The directory.
        argument: What error messages call it.

    Raises:
        FileNotFoundError: If it is none, or not done.
        ValueError: If a shard is gone or has another size.
    """
    shards = _indexed(directory)
    if not shards:
        begun = (directory / SETTINGS).is_file()
        state = "data that are not done: run the command again" if begun else "none"
        raise FileNotFoundError(
            f"`{argument}` must hold pretraining data. Received: {str(directory)!r}, "
            f"with {state}"
        )
    for shard in shards:
        if not shard.is_whole(directory):
            raise ValueError(
                f"{directory / shard.name}: must have {shard.bytes} bytes. To make "
                "the shard again, write the pretraining data again"
            )
    return shards


def check_records(directory: Path) -> None:
    """Reads every shard.

    Raises:
        ValueError: If one is not what was written.
    """
    for shard in read_index(directory):
        path = directory / shard.name
        try:
            for _ in tf.data.TFRecordDataset(str(path)):
                pass
        except tf.errors.DataLossError as error:
            raise ValueError(
                f"{path}: is damaged; to make it again, delete it and write the "
                f"pretraining data again. Received: {error.message}"
            ) from error


def digest(directory: Path) -> str:
    """Tells data from those of another text or recipe."""
    return hashlib.sha256((directory / INDEX).read_bytes()).hexdigest()


def write_text(path: Path, text: str) -> None:
    """Writes a file beside and puts it in its place."""
    beside = _beside(path)
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """A name that no other writer has, on this machine or another."""
    return path.with_suffix(f".{uuid.uuid4().hex}{PART}")


def _indexed(directory: Path) -> list[Shard]:
    path = directory / INDEX
    if not path.is_file():
        return []
    values = json.loads(path.read_text(encoding="utf-8"))
    return [Shard(**value) for value in values["shards"]]
