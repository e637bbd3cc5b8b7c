"""Reads the files of a byte-level BPE vocabulary: vocab.json and merges.txt."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any


def read_pieces(path: str | PathLike) -> list[str]:
    """Reads a `vocab.json`, which maps pieces to ids.

    Returns:
        The pieces in the order of their ids.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not such a mapping, or its ids are not 0 to
            n - 1.
    """
    try:
        ids = json.loads(_read(path))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    return in_order(ids, str(path))


def read_merges(path: str | PathLike) -> list[str]:
    """Reads a `merges.txt`: one merge per line, two pieces and a space.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not UTF-8.
    """
    lines = _read(path).split("\n")
    if lines[0].startswith("#version"):
        del lines[0]
    return [line.rstrip("\r") for line in lines if line.strip()]


def in_order(ids: Any, source: str) -> list[str]:
    """Returns the pieces of a piece-to-id mapping in the order of their ids.

    Args:
        ids: The mapping.
        source: Where it comes from, for error messages.
    """
    if not isinstance(ids, Mapping) or not ids:
        raise ValueError(f"{source} must map pieces to ids. Received: {ids!r:.60}")
    integers = all(type(x) is int for x in ids.values())
    if not integers or set(ids.values()) != set(range(len(ids))):
        raise ValueError(
            f"{source}: the ids must be 0 to n - 1. "
            f"Received {len(ids)} pieces with other ids"
        )
    return sorted(ids, key=ids.__getitem__)


def _read(path: str | PathLike) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a UTF-8 text file: {error}") from error
