"""Data sets whose rows are windows over texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.batches import POOL
from keras_bert_lite.training.data.options import mapped
from keras_bert_lite.training.data.records import Record, records
from keras_bert_lite.training.data.row_datasets import row_dataset

CHUNK = 64  # records that are cut into windows at once

Rows: TypeAlias = "dict[str, tf.Tensor]"


def window_batches(
    source: Any,
    row: Callable[[Record], dict[str, np.ndarray]],
    cut: Callable[[Rows], tuple[Rows, Rows]],
    finish: Callable[[Rows, Rows], Any],
    preprocessor: Preprocessor,
    batch_size: int = 32,
    shuffle: bool | int = False,
    seed: int | None = None,
    drop_remainder: bool = False,
    check: bool = True,
) -> tf.data.Dataset:
    """Makes batches of the windows that records are cut into.

    Args:
        source, row, drop_remainder: See `batches`.
        cut: Cuts records into N windows. Returns their ids `(N, S)` and their
            targets, `(N,)` or `(N, S)`, padded with zeros.
        finish: Converts a batch of ids and targets to an element of the data set.
        preprocessor: Determines the padding id and the width of batches.
        batch_size: The number of windows (B) in a batch.
        shuffle: As in `batches`, for the records; the windows of 50 batches are
            then shuffled too.
        seed: Seed for shuffling.
        check: As in `batches`. The pass at the start cuts all records, so that
            `len(dataset)`, the number of batches, is known. Without it, Keras learns
            the number in the first epoch and warns that it ran out of data.

    Returns:
        A `tf.data.Dataset`. Batches are padded according to `preprocessor.padding`.

    Raises:
        ValueError: If there are no records, or a record is invalid.
    """
    check_positive("batch_size", batch_size)
    if not isinstance(shuffle, bool):
        check_positive("shuffle", shuffle)
    rows = row_dataset(records(source), row, shuffle, seed, check).batch(CHUNK)
    windows = mapped(rows, cut)
    count = _count(windows) if check else None
    windows = mapped(windows.unbatch(), _trimmed, None)
    if shuffle:
        windows = windows.shuffle(POOL * batch_size, seed)
    padding = tf.nest.map_structure(
        lambda spec: tf.zeros([], spec.dtype), windows.element_spec
    )
    padding[0]["token_ids"] = tf.constant(preprocessor.tokenizer.pad_id, tf.int32)
    batched = windows.padded_batch(
        batch_size,
        tf.nest.map_structure(
            lambda spec: [None] * spec.shape.rank, windows.element_spec
        ),
        padding,
        drop_remainder,
    )
    batched = mapped(batched, lambda *rows: _widened(preprocessor, rows, padding), None)
    if count is not None:
        if drop_remainder and count < batch_size:
            raise ValueError(
                "`batch_size` must be at most the number of windows with "
                f"`drop_remainder`, {count}. Received: {batch_size}"
            )
        size = count // batch_size if drop_remainder else -(-count // batch_size)
        batched = batched.apply(tf.data.experimental.assert_cardinality(size))
    return mapped(batched, finish, None).prefetch(tf.data.AUTOTUNE)


def _widened(preprocessor: Preprocessor, rows: Any, padding: Any) -> Any:
    """Pads a batch from its longest row to the preprocessor's width."""
    length = tf.shape(rows[0]["token_ids"], tf.int64)[1]
    missing = tf.cast(preprocessor.width(length[None]), tf.int64) - length

    def widen(x: tf.Tensor, fill: tf.Tensor) -> tf.Tensor:
        if x.shape.rank == 1:
            return x
        wide = tf.pad(x, [[0, 0], [0, missing]], constant_values=fill)
        return tf.ensure_shape(wide, [x.shape[0], preprocessor.widest])

    return tf.nest.map_structure(widen, rows, padding)


def _count(windows: tf.data.Dataset) -> int:
    """Returns the total number of windows."""
    sizes = windows.map(lambda ids, _: tf.shape(ids["token_ids"], tf.int64)[0])
    return int(sizes.reduce(tf.constant(0, tf.int64), lambda a, b: a + b))


def _trimmed(ids: Rows, others: Rows) -> tuple[Rows, Rows]:
    """Removes a row's padding, which depends on the rows that it was cut with."""
    length = tf.math.count_nonzero(ids["padding_mask"])
    return tf.nest.map_structure(
        lambda x: x[:length] if x.shape.rank else x, (ids, others)
    )
