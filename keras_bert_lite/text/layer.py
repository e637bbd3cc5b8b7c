"""The base of layers that take strings."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf


class TextLayer(keras.layers.Layer):
    """A layer that takes strings: Python's, numpy's or TensorFlow's.

    Keras refuses Python strings in `__call__`, and hands JAX or torch tensors
    to `call` under those backends. A text layer runs TensorFlow ops under
    every backend, so it converts its inputs itself: called on values it runs
    eagerly (or inside the `tf.data` function being traced), called on a
    `keras.Input` it becomes part of a functional model.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        # String ops have no XLA kernels; Keras then leaves XLA off.
        self.supports_jit = False
        self.built = True

    def __call__(self, inputs, training=None):
        # Functional models pass `training` on; no text layer depends on it.
        if any(isinstance(x, keras.KerasTensor) for x in tf.nest.flatten(inputs)):
            self.require_tensorflow()
            return super().__call__(inputs)
        return self.call(inputs)

    def require_tensorflow(self) -> None:
        """Raises `NotImplementedError` under another backend of Keras."""
        if keras.backend.backend() != "tensorflow":
            raise NotImplementedError(
                f"`{self.name}` runs TensorFlow string ops and can be part of a "
                "model only under the TensorFlow backend. Under "
                f"{keras.backend.backend()}, call it eagerly or in `tf.data`, and "
                "feed the ids to the model."
            )


def as_strings(value: Any, name: str) -> tf.Tensor | tf.RaggedTensor:
    """Converts Python, numpy or TensorFlow strings to a string tensor.

    Args:
        value: A string, bytes, a (nested) list or tuple of them, a numpy
            array, a `tf.Tensor` or a `tf.RaggedTensor`.
        name: The argument's name for error messages.

    Raises:
        TypeError: If anything in `value` is not a string.
    """
    if isinstance(value, (tf.Tensor, tf.RaggedTensor)):
        strings = value
    elif _is_empty_list(value):
        strings = tf.constant([], tf.string)
    else:
        strings = _from_python(value, name)
    if strings.dtype != tf.string:
        raise TypeError(
            f"`{name}` must be strings. Received: a tensor of dtype "
            f"{strings.dtype.name} and shape {strings.shape}"
        )
    return strings


def _is_empty_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, np.ndarray)) and len(value) == 0


def _from_python(value: Any, name: str) -> tf.Tensor | tf.RaggedTensor:
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":
        value = value.astype(object)
    _refuse_other_than_strings(value, name)
    try:
        return tf.convert_to_tensor(value, tf.string)
    except (TypeError, ValueError):
        return tf.ragged.constant(value, dtype=tf.string)


def _refuse_other_than_strings(value: Any, name: str) -> None:
    if isinstance(value, (list, tuple, np.ndarray)):
        for item in value:
            _refuse_other_than_strings(item, name)
    elif not isinstance(value, (str, bytes)):
        raise TypeError(
            f"`{name}` must be strings. Received: {value!r} "
            f"(of type {type(value).__name__})"
        )
