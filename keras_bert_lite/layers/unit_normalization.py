"""Scaling vectors to length 1."""

import keras
from keras import ops


def in_float32(function, x):
    """Calls a function of floats in float32, or float64 if they are.

    In float16 the squares of large numbers are infinite, and the small number that
    keeps zeros from a division by zero is zero.
    """
    wide = keras.backend.result_type(x.dtype, "float32")
    return ops.cast(function(ops.cast(x, wide)), x.dtype)


def unit_vectors(x):
    """Scales vectors `(..., H)` to length 1; zeros stay zeros."""
    return in_float32(ops.normalize, x)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class UnitNormalization(keras.layers.UnitNormalization):
    """Keras's layer of the name, computed in float32.

    Call arguments:
        inputs: Floats of shape `(..., H)`.

    Output shape:
        `(..., H)`: vectors of length 1; zeros stay zeros.
    """

    def call(self, inputs):
        return in_float32(super().call, inputs)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape
