"""Dense layers that compute something else while signatures are traced."""

import contextlib
from collections.abc import Callable, Iterator

import keras
import tensorflow as tf


@contextlib.contextmanager
def replaced_calls(calls: dict[keras.layers.Layer, Callable]) -> Iterator[None]:
    """Lets layers compute something else for a while."""
    try:
        for layer, call in calls.items():
            layer.call = call
        yield
    finally:
        for layer in calls:
            layer.__dict__.pop("call", None)


def on_rows(product: Callable, x: tf.Tensor, width: int) -> tf.Tensor:
    """Applies a product of matrices to the last axis: (..., K) -> (..., width)."""
    found = product(tf.reshape(x, [-1, x.shape[-1]]))
    shape = [*x.shape[:-1], width]
    if len(shape) != 2:
        found = tf.reshape(found, tf.concat([tf.shape(x)[:-1], [width]], 0))
    return tf.ensure_shape(found, shape)
