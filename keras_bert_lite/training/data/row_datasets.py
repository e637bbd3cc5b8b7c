"""Data sets of rows (named arrays) from records."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.training.data.options import without_tuning
from keras_bert_lite.training.data.records import Record, Records

Row = dict[str, np.ndarray]
CHUNK = 256  # rows passed to TensorFlow at once; one by one is ten times slower


def row_dataset(
    source: Records,
    row: Callable[[Record], Row],
    shuffle: bool | int = False,
    seed: int | None = None,
    check: bool = True,
) -> tf.data.Dataset:
    """Makes a `tf.data.Dataset` with one row per record.

    Args:
        source, row, shuffle, seed, check: See `batches`.

    Returns:
        A data set of the results of `row`. Its size is known with `check`, if all
        rows are shuffled, or if the source knows its size.

    Raises:
        ValueError: If there are no records, or a record that was read is invalid.
    """
    read = functools.partial(_rows, source, row)
    if shuffle is True:
        rows = without_tuning(_held(read()))
        return rows.shuffle(rows.cardinality(), seed)
    size = sum(1 for _ in read()) if check else source.size
    rows = without_tuning(_streamed(read, size))
    return rows.shuffle(shuffle, seed) if shuffle else rows


def held_rows(source: Records, row: Callable[[Record], Row]) -> list[Row]:
    """Returns the rows of all records.

    Raises:
        ValueError: If there are none, or a record is invalid.
    """
    rows = list(_rows(source, row))
    if not rows:
        raise _no_records()
    return rows


def _rows(source: Records, make: Callable[[Record], Row]) -> Iterator[Row]:
    shapes = None
    for number, record in enumerate(source):
        try:
            row = make(record)
        except ValueError as error:
            raise ValueError(f"Record {number}: {error}") from error
        received = {name: value.shape for name, value in row.items()}
        shapes = shapes or received
        if received != shapes:
            raise ValueError(
                f"Record {number} must have as many values as the first record, of "
                f"shapes {shapes}. Received: {received}"
            )
        yield row


def _held(rows: Iterator[Row]) -> tf.data.Dataset:
    columns = _stacked(rows)
    if not columns:
        raise _no_records()
    return tf.data.Dataset.from_tensor_slices(columns)


def _streamed(read: Callable[[], Iterator[Row]], size: int | None) -> tf.data.Dataset:
    first = next(read(), None)
    if first is None:
        raise _no_records()
    signature = {
        name: tf.TensorSpec((None, *value.shape), value.dtype)
        for name, value in first.items()
    }
    chunks = tf.data.Dataset.from_generator(
        lambda: _chunks(read()), output_signature=signature
    )
    rows = chunks.unbatch()
    if size is None:
        return rows
    return rows.apply(tf.data.experimental.assert_cardinality(size))


def _chunks(rows: Iterator[Row]) -> Iterator[Row]:
    while chunk := _stacked(itertools.islice(rows, CHUNK)):
        yield chunk


def _stacked(rows: Iterator[Row]) -> Row:
    """Stacks rows by name; returns an empty dictionary if there are no rows."""
    columns: dict[str, list[np.ndarray]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {name: np.stack(values) for name, values in columns.items()}


def _no_records() -> ValueError:
    return ValueError("`source` must hold records. Received: none")
