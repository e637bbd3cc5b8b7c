"""The files of pretraining data: written whole or not at all."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

SETTINGS, INDEX = "settings.json", "index.json"


class Shard(NamedTuple):
    """What is known of a file of rows."""

    name: str
    rows: int
    tokens: int
    bytes: int

    def is_whole(self, directory: Path) -> bool:
        path = directory / self.name
        return path.is_file() and path.stat().st_size == self.bytes


def shard_name(number: int) -> str:
    return f"{number:06}.tfrecord"


def write_shard(
    directory: Path, number: int, examples: Sequence[bytes], tokens: int
) -> Shard:
    """Writes rows beside, puts the file in its place, then says that it is done.

    Raises:
        OSError: If it cannot be written, as on a full disk; nothing of it stays.
    """
    path = directory / shard_name(number)
    beside = path.with_suffix(f".{os.getpid()}.part")
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
    shard = Shard(path.name, len(examples), tokens, size)
    write_text(path.with_suffix(".json"), json.dumps(shard._asdict()))
    return shard


def find_shard(directory: Path, number: int) -> Shard | None:
    """Returns a shard that was written whole."""
    path = (directory / shard_name(number)).with_suffix(".json")
    if not path.is_file():
        return None
    shard = Shard(**json.loads(path.read_text(encoding="utf-8")))
    return shard if shard.is_whole(directory) else None


def write_index(directory: Path, shards: Sequence[Shard]) -> None:
    """Says that all is done; the files that said so of each shard go."""
    text = json.dumps({"shards": [shard._asdict() for shard in shards]})
    write_text(directory / INDEX, text)
    for shard in shards:
        (directory / shard.name).with_suffix(".json").unlink(missing_ok=True)


def read_index(directory: Path) -> list[Shard]:
    """Returns the shards of a directory that is done.

    Raises:
        FileNotFoundError: If it is none, or not done.
        ValueError: If a shard is gone or has another size.
    """
    path = directory / INDEX
    if not path.is_file():
        begun = (directory / SETTINGS).is_file()
        state = "data that are not done: run the command again" if begun else "none"
        raise FileNotFoundError(
            f"`directory` must hold pretraining data. Received: {str(directory)!r}, "
            f"with {state}"
        )
    values = json.loads(path.read_text(encoding="utf-8"))
    shards = [Shard(**value) for value in values["shards"]]
    for shard in shards:
        if not shard.is_whole(directory):
            raise ValueError(
                f"{directory / shard.name}: must have {shard.bytes} bytes. Write the "
                "pretraining data anew"
            )
    return shards


def write_text(path: Path, text: str) -> None:
    """Writes a file beside and puts it in its place."""
    beside = path.with_suffix(f".{os.getpid()}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
