"""Scaling vectors to length 1."""

import keras
from keras import ops


def unit_vectors(x):
    """Scales vectors `(..., H)` to length 1; zeros stay zeros.

    Computed in float32: in float16, the squares of large numbers are infinite, and
    what keeps zeros from a division by zero is zero.
    """
    return ops.cast(ops.normalize(ops.cast(x, "float32"), axis=-1), x.dtype)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class UnitNormalization(keras.layers.UnitNormalization):
    """Keras's layer of the name over the last axis, computed in float32.

    Call arguments:
        inputs: Floats of shape `(..., H)`.

    Output shape:
        `(..., H)`: vectors of length 1; zeros stay zeros.
    """

    def call(self, inputs):
        return unit_vectors(inputs)
