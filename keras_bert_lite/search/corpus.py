"""The texts of an index and their ids."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert_lite.training.data.readers.lines import read_lines
from keras_bert_lite.training.data.readers.read import (
    Reading,
    check_reading,
    format_of,
    read,
)
from keras_bert_lite.training.data.retrieval import CORPUS, beir_texts
from keras_bert_lite.training.data.row_formats import is_text

SHOWN = 3  # ids in an error message
LARGEST = 2**63 - 1
ID = int | str


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Texts to search, and what a search calls them.

    Args:
        texts: The texts.
        ids: An id for each: strings, or numbers from 0.

    Raises:
        ValueError: If there are no texts, one is empty or no string, or ids are not as
            many, of both kinds, negative, empty or there twice.
    """

    texts: Sequence[str]
    ids: Sequence[ID]

    def __post_init__(self) -> None:
        if not self.texts:
            raise ValueError("`texts` must hold a text. Received: none")
        for number, text in enumerate(self.texts):
            if not isinstance(text, str) or not text.strip() or not is_text(text):
                raise ValueError(
                    f"`texts`, record {number}: must be a string with other "
                    f"characters than spaces. Received: {text!r:.100}"
                )
        if len(self.ids) != len(self.texts):
            raise ValueError(
                f"`ids` must be as many as the texts, {len(self.texts)}. "
                f"Received: {len(self.ids)}"
            )
        _check_ids(self.ids)

    @property
    def named(self) -> bool:
        """Whether ids are strings."""
        return isinstance(self.ids[0], str)


def _check_ids(ids: Sequence[ID]) -> None:
    kinds = Counter(type(x) for x in ids)
    if len(kinds) > 1 or next(iter(kinds)) not in (int, str):
        names = sorted(x.__name__ for x in kinds)
        raise ValueError(
            f"`ids` must all be strings, or all whole numbers. Received: {names}"
        )
    wrong = [x for x in ids if x == "" or (isinstance(x, int) and not 0 <= x < LARGEST)]
    if wrong:
        raise ValueError(
            "`ids` must be numbers from 0, or strings that are not empty, which stand "
            f"for no text. Received: {wrong[:SHOWN]}"
        )
    counts = Counter(ids)
    if len(counts) < len(ids):
        twice = [x for x, count in counts.items() if count > 1]
        raise ValueError(f"`ids` must differ. Received twice: {twice[:SHOWN]}")


def list_of_ids(ids: Sequence[ID]) -> list[Any]:
    """Returns ids in a list, those of NumPy as Python's.

    Raises:
        TypeError: If they are one string.
    """
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"`ids` must be a list of ids. Received: {ids!r}")
    return [x.item() if isinstance(x, np.generic) else x for x in ids]


def read_corpus(
    texts: Sequence[str] | Mapping[str, str] | str | os.PathLike,
    ids: Sequence[ID] | None = None,
    reading: Reading | None = None,
    first: int = 0,
) -> Corpus:
    """Reads the texts of an index.

    Args:
        texts: Texts in a list; texts by their ids; a file of a text per line; a file
            that `data.read` reads, with a column `text` and perhaps `id`; or BEIR's
            files.
        ids: The ids of texts in a list or in lines; `None`: their numbers.
        reading: Options of `data.read`; `None`: there are none.
        first: The number of the first text.

    Raises:
        TypeError: If there is no such option, or `ids` is a string.
        ValueError: If options are given for what `data.read` does not read.
    """
    reading = reading or {}
    check_reading(reading)
    if isinstance(texts, (str, os.PathLike)):
        texts, found = _from_file(texts, reading)
    elif reading:
        raise ValueError(
            f"`{next(iter(reading))}` must not be given unless `texts` is a file. "
            f"Received: {type(texts).__name__}"
        )
    elif isinstance(texts, Mapping):
        texts, found = [*texts.values()], [*texts]
    else:
        texts, found = [*texts], None
    if found is not None and ids is not None:
        raise ValueError(
            "`ids` must be None for texts that have ids. "
            f"Received: {type(ids).__name__}"
        )
    known = found if ids is None else list_of_ids(ids)
    return Corpus(texts, range(first, first + len(texts)) if known is None else known)


def _from_file(
    source: str | os.PathLike, reading: Reading
) -> tuple[list[Any], list[Any] | None]:
    path = Path(source)
    if path.is_dir():
        path = path / f"{CORPUS}.jsonl"
    if "://" not in os.fspath(source) and format_of(path, "texts", **reading) is None:
        return [line.text for line in read_lines(path) if line.text.strip()], None
    source = source if "://" in os.fspath(source) else path
    records = [*read(source, "texts", **reading)]
    if records and "_id" in records[0]:
        named = beir_texts(records, path)
        return [*named.values()], [*named]
    texts, ids = ([x.get(name) for x in records] for name in ("text", "id"))
    return texts, None if all(x is None for x in ids) else ids
