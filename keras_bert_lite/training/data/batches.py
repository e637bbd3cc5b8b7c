"""Batching of records."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, TypedDict

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.training.data.distinct import distinct_batches
from keras_bert_lite.training.data.options import mapped
from keras_bert_lite.training.data.records import Record, records
from keras_bert_lite.training.data.row_datasets import Row, held_rows, row_dataset

POOL = 50  # batches whose rows are sorted by length or shuffled together


class WindowBatching(TypedDict, total=False):
    """The options of `window_batches`."""

    batch_size: int
    shuffle: bool | int
    seed: int | None
    drop_remainder: bool
    check: bool


class Batching(WindowBatching, total=False):
    """The options of `batches`."""

    group_by_length: bool
    distinct: bool


def batches(
    source: Any,
    row: Callable[[Record], Row],
    finish: Callable[[dict[str, tf.Tensor]], Any],
    batch_size: int = 32,
    shuffle: bool | int = False,
    seed: int | None = None,
    drop_remainder: bool = False,
    group_by_length: bool = False,
    distinct: bool = False,
    check: bool = True,
) -> tf.data.Dataset:
    """Makes batches of records for `model.fit`.

    Args:
        source: See `records`.
        row: Converts a record to named arrays, with the same shapes for every
            record; raises `ValueError` if a record is invalid.
        finish: Converts a batch of these arrays to an element of the data set. It
            runs inside the data set, so it must use TensorFlow ops.
        batch_size: The number of rows (B) in a batch.
        shuffle: `True` shuffles all rows, holding them in memory (strings, not
            ids). An integer is the size of a shuffle buffer, for sources that are
            too large. `False` streams the rows in their order. Every epoch has a
            different order.
        seed: Seed for shuffling; `None`: that of `keras.utils.set_random_seed`.
        drop_remainder: Whether to drop a last batch that is not full, as TPUs
            need.
        group_by_length: Whether to batch texts of similar length, for less
            padding. The rows of 50 batches at a time are sorted by their number
            of characters, then the batches are shuffled.
        distinct: Whether no text occurs twice in a batch, as a loss with in-batch
            negatives needs: a text would be a wrong answer to itself. All batches are
            full; see `distinct_batches`.
        check: Whether to read the source once at the start. This finds invalid
            records before training and gives Keras the number of batches. Use
            `False` for slow or endless sources; errors are then TensorFlow's, with
            the message inside. With `shuffle=True` the source is always read.

    Returns:
        A `tf.data.Dataset` of the results of `finish`.

    Raises:
        ValueError: If there are no records, or less than one batch with
            `drop_remainder`; if a record is invalid (the message has its index);
            or if `group_by_length` or `distinct` is set without `shuffle`, or both.
    """
    check_positive("batch_size", batch_size)
    if not isinstance(shuffle, bool):
        check_positive("shuffle", shuffle)
    if group_by_length and not shuffle:
        raise ValueError(
            "`group_by_length` changes the order of the rows and needs `shuffle`. "
            f"Received: shuffle={shuffle}"
        )
    if distinct:
        if shuffle is not True or group_by_length:
            raise ValueError(
                "`distinct` needs `shuffle=True`, without `group_by_length`. "
                f"Received: shuffle={shuffle}, group_by_length={group_by_length}"
            )
        batched = distinct_batches(held_rows(records(source), row), batch_size, seed)
        return mapped(batched, finish).prefetch(tf.data.AUTOTUNE)
    rows = row_dataset(records(source), row, shuffle, seed, check)
    size = int(rows.cardinality())
    if drop_remainder and 0 <= size < batch_size:
        raise ValueError(
            f"`batch_size` must be at most the number of records, {size}, with "
            f"`drop_remainder`. Received: {batch_size}"
        )
    if group_by_length:
        batched = _grouped(rows, batch_size, drop_remainder, seed)
    else:
        batched = rows.batch(batch_size, drop_remainder)
    finished = mapped(batched, finish)
    return finished.prefetch(tf.data.AUTOTUNE)


def _grouped(
    rows: tf.data.Dataset, batch_size: int, drop_remainder: bool, seed: int | None
) -> tf.data.Dataset:
    """Batches rows of similar length, without changing the number of batches."""
    size = int(rows.cardinality())
    sorted_rows = rows.batch(POOL * batch_size).map(_by_length)
    batched = sorted_rows.rebatch(batch_size, drop_remainder)
    if size >= 0:
        count = size // batch_size if drop_remainder else -(-size // batch_size)
        batched = batched.apply(tf.data.experimental.assert_cardinality(count))
    return batched.shuffle(POOL, seed)


def _by_length(rows: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    lengths = [_characters(x) for x in rows.values() if x.dtype == tf.string]
    order = tf.argsort(functools.reduce(operator.add, lengths))
    return {name: tf.gather(x, order) for name, x in rows.items()}


def _characters(texts: tf.Tensor) -> tf.Tensor:
    """Counts the characters of each row: `(B, ...)` -> `(B,)`."""
    lengths = tf.strings.length(texts, "UTF8_CHAR")
    return tf.reduce_sum(tf.reshape(lengths, [tf.shape(texts)[0], -1]), -1)
