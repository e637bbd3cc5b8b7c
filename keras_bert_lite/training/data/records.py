"""One way in for every source of data: records, which are dictionaries."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

Record = dict[str, Any]
ENDLESS = -1  # `tf.data.INFINITE_CARDINALITY`


class Records:
    """The records of a source, which may be gone through again and again.

    Each pass asks the source anew and holds one record at a time. Whatever the
    source gives, values come out as Python's: bytes as `str`, tensors and numpy
    arrays as numbers and lists.

    Args:
        read: Returns an iterable of records; called once a pass.
        size: How many records there are, if that is known without a pass.

    Raises:
        TypeError: In a pass, if something is not a dictionary.
        ValueError: In a pass, if bytes are not UTF-8.
    """

    def __init__(
        self, read: Callable[[], Iterable[Any]], size: int | None = None
    ) -> None:
        self._read = read
        self.size = size

    def __iter__(self) -> Iterator[Record]:
        for number, record in enumerate(self._read()):
            if not isinstance(record, Mapping):
                raise TypeError(
                    f"Record {number} must be a dictionary of columns. "
                    f"Received: {record!r:.200} (of type {type(record).__name__})"
                )
            try:
                yield {name: plain(value) for name, value in record.items()}
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"Record {number} must be UTF-8. Received: {error}"
                ) from None


def records(source: Any) -> Records:
    """Returns the records of a source.

    Args:
        source: Any of

            - what a reader of this package returns,
            - a list of dictionaries,
            - a dictionary of columns, lists of the same length,
            - a `tf.data.Dataset` of dictionaries, as tensorflow_datasets gives,
            - a Hugging Face `datasets.Dataset` or `IterableDataset`,
            - any other iterable of dictionaries that can be gone through again,
            - a function without arguments, such as a generator function, that
              returns an iterable of dictionaries; it is called once a pass.

    Raises:
        TypeError: If the source is an iterator, which one epoch would use up,
            a path, or nothing of these.
        ValueError: If columns differ in length, or a `tf.data.Dataset` has no end.
    """
    if isinstance(source, Records):
        return source
    if isinstance(source, Mapping):
        return _of_columns(source)
    if hasattr(source, "__next__"):
        raise TypeError(
            "`source` must give its records again at each epoch, and an iterator "
            "cannot; pass the function that makes it. "
            f"Received: an object of type {type(source).__name__}"
        )
    if isinstance(source, (str, bytes, PathLike)):
        raise TypeError(
            "`source` must hold records; a file needs a reader, such as "
            f"`read_csv(path)` or `read_jsonl(path)`. Received: {source!r}"
        )
    if hasattr(source, "__iter__") or hasattr(source, "__getitem__"):
        return Records(lambda: source, _size(source))
    if callable(source):
        return Records(source)
    raise TypeError(
        "`source` must be a list of dictionaries, a dictionary of columns, a data "
        "set, or a function that returns an iterable. "
        f"Received: {source!r:.200} (of type {type(source).__name__})"
    )


def plain(value: Any) -> Any:
    """Returns a value as Python's: no bytes, tensors or numpy arrays."""
    if value is None or isinstance(value, (str, int, float)):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if hasattr(value, "numpy"):  # a tensor of TensorFlow or torch
        return plain(value.numpy())
    return value


def _of_columns(columns: Mapping[str, Any]) -> Records:
    for name, values in columns.items():
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise TypeError(
                f"`source`: column {name!r} must be a list; of a dictionary of "
                f"splits, pass one. Received: {type(values).__name__}"
            )
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"`source`: the columns must have the same length. Received: {sizes}"
        )

    def rows() -> Iterator[Record]:
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    return Records(rows, next(iter(sizes.values()), 0))


def _size(source: Any) -> int | None:
    cardinality = getattr(source, "cardinality", None)  # of `tf.data`
    if callable(cardinality) and int(cardinality()) == ENDLESS:
        raise ValueError(
            "`source` must have an end; repeat what is made of it instead. "
            f"Received: {source!r:.200}"
        )
    try:
        return len(source)
    except TypeError:
        return None
