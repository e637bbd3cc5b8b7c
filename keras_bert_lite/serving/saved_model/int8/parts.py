"""The rows of a batch in parts that are computed in parallel."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

FEWEST = 64  # tokens of a batch that is split at all
MOST = 1024  # tokens of a part, about


def rows_in_parts(
    call: Callable,
    x: tf.Tensor,
    padding_mask: tf.Tensor | None = None,
    sequence_ids: tf.Tensor | None = None,
) -> Any:
    """Calls an `Encoder` on parts of the rows in parallel.

    In int8 most operations are so short that two threads take longer than one, which
    need not wake another. So each part stays on one thread, except for oneDNN's
    operations on floats, and there are at least two parts. Their rows are chosen so
    that they have about as many tokens.

    Only for graphs without gradients.

    Args:
        call: The encoder's call.
        x, padding_mask, sequence_ids: Its arguments.
    """
    if padding_mask is None:
        return call(x, None, sequence_ids, training=False)
    mask = tf.cast(padding_mask, tf.bool)
    parts = _parts(tf.math.count_nonzero(mask, axis=1, dtype=tf.int32))
    # A part that has fewer rows than others gets rows without tokens.
    mask = tf.pad(mask, [[0, 1], [0, 0]])
    last = tf.shape(x)[0] - 1

    # TensorFlow optimizes a function that is called, but not one that is mapped.
    @tf.function(autograph=False, experimental_attributes={"_noinline": True})
    def part(rows: tf.Tensor) -> Any:
        there = tf.minimum(rows, last)
        ids = None if sequence_ids is None else tf.gather(sequence_ids, there)
        return call(tf.gather(x, there), tf.gather(mask, rows), ids, training=False)

    places = tf.argsort(tf.reshape(parts, [-1]))[: last + 1]

    def in_order(y: tf.Tensor) -> tf.Tensor:
        rows = tf.reshape(y, tf.concat([[-1], tf.shape(y)[2:]], 0))
        return tf.ensure_shape(tf.gather(rows, places), [x.shape[0], *y.shape[2:]])

    return tf.nest.map_structure(in_order, _mapped(part, parts))


def _parts(counts: tf.Tensor) -> tf.Tensor:
    """Returns the indices of the rows of each part; B where it has no other.

    Args:
        counts: The number of tokens of each row, `(B,)`.
    """
    rows, tokens = tf.size(counts), tf.reduce_sum(counts)
    number = tf.where(tokens < FEWEST, 1, 2 * -(-tokens // (2 * MOST)))
    number = tf.maximum(tf.minimum(number, rows), 1)
    missing = -rows % number
    order = tf.pad(tf.argsort(counts), [[0, missing]], constant_values=rows)
    return tf.transpose(tf.reshape(order, [-1, number]))


def _mapped(function: Any, rows: tf.Tensor) -> Any:
    """Applies a function to each of `rows` in parallel, each on one thread."""
    mapped = tf.function(function, autograph=False).get_concrete_function(
        tf.TensorSpec(rows.shape[1:], rows.dtype)
    )
    outputs = mapped.structured_outputs
    found = tf.raw_ops.MapDefun(
        arguments=[rows],
        captured_inputs=mapped.captured_inputs,
        output_types=[x.dtype for x in tf.nest.flatten(outputs)],
        output_shapes=[x.shape for x in tf.nest.flatten(outputs)],
        f=mapped,
        max_intra_op_parallelism=1,
    )
    return tf.nest.pack_sequence_as(outputs, found)
