"""`tf.repeat` and `value_rowids` in memory proportional to the result.

TensorFlow's versions build a matrix as wide as the largest count. One text of a
million tokens among a thousand short ones would take gigabytes.
"""

from __future__ import annotations

from keras_bert_lite._tensorflow import tf


def rows_of(row_splits: tf.Tensor) -> tf.Tensor:
    """Returns the row of each value of a ragged tensor, `(N,)` int64.

    Args:
        row_splits: `(B + 1,)`, integers.
    """
    row_splits = tf.cast(row_splits, tf.int64)
    positions = tf.range(row_splits[-1])
    # Not tf.searchsorted, which fails if there are no values.
    behind = tf.raw_ops.UpperBound(
        sorted_inputs=row_splits[None], values=positions[None], out_type=tf.int64
    )
    return behind[0] - 1


def repeated_places(counts: tf.Tensor) -> tf.Tensor:
    """Repeats each index by its count: [2, 0, 1] -> [0, 0, 2].

    Args:
        counts: `(N,)`, integers.

    Returns:
        `(M,)` int64, M the sum of the counts.
    """
    ends = tf.cumsum(tf.cast(counts, tf.int64))
    return rows_of(tf.concat([[0], ends], 0))


def repeat(values: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Repeats each value by its count."""
    return tf.gather(values, repeated_places(counts))
