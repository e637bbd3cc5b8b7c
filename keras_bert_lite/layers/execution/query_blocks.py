"""Attention of long rows in blocks of queries, so that no (S, S) array is held."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
from keras import ops

if TYPE_CHECKING:
    import tensorflow as tf

# Rows up to this length attend at once, which is faster.
LONG = 1024
# The queries of a block, where the length is only known with the batch.
QUERIES = 128


def attend_by_blocks(attention: Callable, query, key, value, biases: list, axis: int):
    """Calls `attention` on blocks of queries, and again for the gradients.

    Args:
        attention: A function of queries, keys, values and biases.
        query, key, value: Floats; the length S along `axis` is static.
        biases: Terms of the scores, `(..., S or 1, S)`.
        axis: Where the length is, also in the result.
    """
    length, blocks = query.shape[axis], []
    if length <= LONG:
        return attention(query, key, value, biases)
    for first in range(0, length, LONG):
        part = slice(first, first + LONG)
        queries = query[(*(slice(None),) * axis, part)]
        terms = [x if x.shape[-2] == 1 else x[..., part, :] for x in biases]
        run = keras.remat(lambda q, k, v, *terms: attention(q, k, v, list(terms)))
        blocks.append(run(queries, key, value, *terms))
    return ops.concatenate(blocks, axis=axis)


def attend_in_loop(attention: Callable, query, key, value, bias):
    """Calls `attention` on blocks of queries of rows of any length (TensorFlow).

    Only the result is kept for the gradients, which compute a block again. Not for a
    branch of `tf.cond`: TensorFlow does not find there what the gradients need.

    Args:
        attention: A function of queries, keys, values and biases.
        query, key, value: `(b, N, s, D)`.
        bias: The mask's term of the scores, `(b, 1, 1, s)`, which has no gradient.

    Reference: [Rabe and Staats, 2021](https://arxiv.org/abs/2112.05682).
    """
    import tensorflow as tf

    def attend(queries, key, value):
        return attention(queries, key, value, [bias])

    @tf.custom_gradient
    def run(query, key, value):
        output = _blocks(lambda queries: attend(queries, key, value), query)
        return output, lambda upstream: _gradients(attend, query, key, value, upstream)

    return run(query, key, value)


def _blocks(function: Callable, x: "tf.Tensor") -> "tf.Tensor":
    """Returns a function of the blocks of `(b, N, s, D)`, joined."""
    import tensorflow as tf

    count = _count(x)
    parts = tf.TensorArray(x.dtype, count, infer_shape=False, element_shape=None)

    def body(i: Any, parts: Any) -> tuple[Any, Any]:
        made = function(x[:, :, i * QUERIES : (i + 1) * QUERIES])
        return i + 1, parts.write(i, tf.transpose(made, [2, 0, 1, 3]))

    options = {"parallel_iterations": 1, "maximum_iterations": count}
    _, parts = tf.while_loop(lambda i, _: i < count, body, (0, parts), **options)
    joined = tf.transpose(parts.concat(), [1, 2, 0, 3])
    return tf.reshape(joined, tf.shape(x))


def _count(x: "tf.Tensor") -> "tf.Tensor":
    """Returns the number of blocks, at least one: none could not be joined."""
    import tensorflow as tf

    return tf.maximum(1, -(-tf.shape(x)[2] // QUERIES))


def _gradients(attend: Callable, query, key, value, upstream):
    """Returns the gradients of queries, keys and values."""
    import tensorflow as tf

    count = _count(query)
    parts = tf.TensorArray(query.dtype, count, infer_shape=False, element_shape=None)

    def body(i, parts, to_key, to_value):
        block = slice(i * QUERIES, (i + 1) * QUERIES)
        inputs = (query[:, :, block], key, value)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(inputs)
            output = attend(*inputs)
        of_block = tape.gradient(output, inputs, upstream[:, :, block])
        parts = parts.write(i, tf.transpose(of_block[0], [2, 0, 1, 3]))
        return i + 1, parts, to_key + of_block[1], to_value + of_block[2]

    first = (0, parts, tf.zeros_like(key), tf.zeros_like(value))
    options = {"parallel_iterations": 1, "maximum_iterations": count}
    done = tf.while_loop(lambda i, *_: i < count, body, first, **options)
    to_query = tf.transpose(done[1].concat(), [1, 2, 0, 3])
    return tf.reshape(to_query, tf.shape(query)), done[2], done[3]
