"""Records, dictionaries that are the common form of all data sources."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

Record = dict[str, Any]
ENDLESS = -1  # `tf.data.INFINITE_CARDINALITY`


class Records:
    """An iterable over the records of a source that can be iterated repeatedly.

    Each pass reads the source again and holds one record at a time. Values are
    converted to Python's types: bytes to `str`, tensors and NumPy arrays to numbers
    and lists.

    Args:
        read: Returns an iterable of records; called once per pass.
        size: The number of records, if it is known without a pass.

    Raises:
        TypeError: During a pass, if a record is not a dictionary.
        ValueError: During a pass, if bytes are not UTF-8.
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


def records(source: Any, argument: str = "source") -> Records:
    """Returns the records of a source.

    Args:
        source: Any of

            - the result of a reader of this package,
            - a list of dictionaries,
            - a dictionary of columns, lists of the same length,
            - a pandas or polars `DataFrame`,
            - a `tf.data.Dataset` of dictionaries, as from tensorflow_datasets,
            - a Hugging Face `datasets.Dataset` or `IterableDataset`,
            - any other iterable of dictionaries that can be iterated repeatedly,
            - a function without arguments, such as a generator function, that
              returns an iterable of dictionaries; it is called once per pass.
        argument: The name of the source in error messages.

    Raises:
        TypeError: If the source is an iterator, which one epoch would exhaust, a
            path, or none of these.
        ValueError: If columns differ in length, or a `tf.data.Dataset` is infinite.
    """
    if isinstance(source, Records):
        return source
    if isinstance(source, Mapping):
        return _of_columns(source, argument)
    if hasattr(source, "columns") and hasattr(source, "to_dict"):
        columns = {str(name): list(source[name]) for name in source.columns}
        return _of_columns(columns, argument)
    if hasattr(source, "__next__"):
        raise TypeError(
            f"`{argument}` must give its records again in each epoch, but an iterator "
            "cannot; pass the function that makes it. "
            f"Received: an object of type {type(source).__name__}"
        )
    if isinstance(source, (str, bytes, PathLike)):
        raise TypeError(
            f"`{argument}` must hold records; a file needs a reader, such as "
            f"`read_csv(path)` or `read_jsonl(path)`. Received: {source!r}"
        )
    if hasattr(source, "__iter__") or hasattr(source, "__getitem__"):
        return Records(lambda: source, _size(source, argument))
    if callable(source):
        return Records(source)
    raise TypeError(
        f"`{argument}` must be a list of dictionaries, a dictionary of columns, a "
        "DataFrame, a data set, or a function that returns an iterable. "
        f"Received: {source!r:.200} (of type {type(source).__name__})"
    )


def plain(value: Any) -> Any:
    """Converts bytes, tensors and NumPy arrays to Python values."""
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
    if hasattr(value, "numpy"):  # a TensorFlow or PyTorch tensor
        return plain(value.numpy())
    if type(value).__name__ == "NAType":  # `pandas.NA`, which equals nothing
        return None
    return value


def _of_columns(columns: Mapping[str, Any], argument: str) -> Records:
    for name, values in columns.items():
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise TypeError(
                f"`{argument}`: column {name!r} must be a list; pass one split, not a "
                f"dictionary of splits. Received: {type(values).__name__}"
            )
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"`{argument}`: the columns must have the same length. Received: {sizes}"
        )

    def rows() -> Iterator[Record]:
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    return Records(rows, next(iter(sizes.values()), 0))


def _size(source: Any, argument: str) -> int | None:
    cardinality = getattr(source, "cardinality", None)  # of `tf.data`
    if callable(cardinality) and int(cardinality()) == ENDLESS:
        raise ValueError(
            f"`{argument}` must be finite; repeat the resulting data set instead. "
            f"Received: {source!r:.200}"
        )
    try:
        return len(source)
    except TypeError:
        return None
