"""Attention of long rows in blocks of queries, so that no (S, S) array is held."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras import ops

# Rows up to this length attend at once, which is faster.
LONG = 1024
# The queries of a block.
QUERIES = 128


def attend_by_blocks(attend: Callable, query, key, value, biases: list[Any], axis: int):
    """Calls `attend` on blocks of queries, and again for the gradients.

    Args:
        attend: A function of queries, keys, values and biases.
        query, key, value: Floats; the length S along `axis` is static.
        biases: Terms of the scores, `(..., S or 1, S)`.
        axis: Where the length is, also in the result.
    """
    length, blocks = query.shape[axis], []
    if length <= LONG:
        return attend(query, key, value, biases)
    for first in range(0, length, LONG):
        part = slice(first, first + LONG)
        queries = query[(*(slice(None),) * axis, part)]
        terms = [x if x.shape[-2] == 1 else x[..., part, :] for x in biases]
        run = keras.remat(lambda q, k, v, *terms: attend(q, k, v, list(terms)))
        blocks.append(run(queries, key, value, *terms))
    return ops.concatenate(blocks, axis=axis)


@tf.custom_gradient
def attend_in_loop(query: tf.Tensor, key: tf.Tensor, value: tf.Tensor, bias: tf.Tensor):
    """Computes `softmax(Q K^T + bias) V` of any length, block by block.

    The softmax runs in float32. Only the result is kept for the gradients, which
    compute the weights of a block again. Not for a branch of `tf.cond`: TensorFlow does
    not find there what the gradients need.

    Args:
        query: `(b, N, s, D)`, scaled.
        key, value: `(b, N, s, D)`.
        bias: `(b, 1, 1, s)`, constant.

    Reference: [Rabe and Staats, 2021](https://arxiv.org/abs/2112.05682); the gradient
    of the scores: [Dao et al., 2022](https://arxiv.org/abs/2205.14135), appendix B.2.
    """
    output = _blocks(
        lambda queries: tf.matmul(_weights(queries, key, bias), value), query
    )

    def gradient(upstream):
        return *_backward(query, key, value, bias, output, upstream), None

    return output, gradient


def _weights(query: tf.Tensor, key: tf.Tensor, bias: tf.Tensor) -> tf.Tensor:
    scores = tf.cast(tf.matmul(query, key, transpose_b=True), tf.float32)
    return tf.cast(tf.nn.softmax(scores + bias), key.dtype)


def _blocks(function: Callable, x: tf.Tensor) -> tf.Tensor:
    """Returns a function of the blocks of `(b, N, s, D)`, joined."""
    count = _count(x)
    parts = tf.TensorArray(x.dtype, count, infer_shape=False, element_shape=None)

    def body(i, parts):
        made = function(x[:, :, i * QUERIES : (i + 1) * QUERIES])
        return i + 1, parts.write(i, tf.transpose(made, [2, 0, 1, 3]))

    options = {"parallel_iterations": 1, "maximum_iterations": count}
    _, parts = tf.while_loop(lambda i, _: i < count, body, (0, parts), **options)
    joined = tf.transpose(parts.concat(), [1, 2, 0, 3])
    return tf.reshape(joined, tf.shape(x))


def _count(x: tf.Tensor) -> tf.Tensor:
    """Returns the number of blocks, at least one: none could not be joined."""
    return tf.maximum(1, -(-tf.shape(x)[2] // QUERIES))


def _backward(query, key, value, bias, output, upstream):
    """Returns the gradients of queries, keys and values."""
    count, dtype = _count(query), query.dtype
    sums = tf.reduce_sum(tf.cast(upstream * output, tf.float32), -1, keepdims=True)
    parts = tf.TensorArray(dtype, count, infer_shape=False, element_shape=None)

    def body(i, parts, to_key, to_value):
        part = slice(i * QUERIES, (i + 1) * QUERIES)
        queries, above = query[:, :, part], upstream[:, :, part]
        weights = _weights(queries, key, bias)
        to_weights = tf.matmul(above, value, transpose_b=True)
        to_scores = tf.cast(to_weights, tf.float32) - sums[:, :, part]
        to_scores = tf.cast(tf.cast(weights, tf.float32) * to_scores, dtype)
        to_query = tf.transpose(tf.matmul(to_scores, key), [2, 0, 1, 3])
        to_key += tf.matmul(to_scores, queries, transpose_a=True)
        to_value += tf.matmul(weights, above, transpose_a=True)
        return i + 1, parts.write(i, to_query), to_key, to_value

    first = (0, parts, tf.zeros_like(key), tf.zeros_like(value))
    options = {"parallel_iterations": 1, "maximum_iterations": count}
    done = tf.while_loop(lambda i, *_: i < count, body, first, **options)
    to_query = tf.transpose(done[1].concat(), [1, 2, 0, 3])
    return tf.reshape(to_query, tf.shape(query)), done[2], done[3]
