"""Reads the files of a byte-level BPE vocabulary: vocab.json and merges.txt."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from keras_bert_lite._json import parse_json
from keras_bert_lite.text.text_files import read_text


def read_pieces(path: str | PathLike) -> list[str]:
    """Reads a `vocab.json`, which maps pieces to ids.

    Returns:
        The pieces in the order of their ids.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not such a mapping, or its ids are not 0 to
            n - 1.
    """
    text = read_text(path)
    try:
        ids = parse_json(text)
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    return in_order(ids, str(path))


def read_merges(path: str | PathLike) -> list[str]:
    """Reads a `merges.txt`: one merge per line, two pieces and a space.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not UTF-8.
    """
    lines = read_text(path).split("\n")
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
