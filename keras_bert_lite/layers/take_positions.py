"""Layers for positions in a row."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TakePositions(keras.layers.Layer):
    """Gathers the vectors at some positions: `(B, S, H)` -> `(B, P, H)`.

    Call arguments:
        x: A tensor of shape `(B, S, H)`.
        positions: Integers of shape `(B, P)`, in [0, S).
    """

    def call(self, x, positions):
        positions = ops.cast(positions, "int32")
        if keras.backend.backend() == "jax":
            # Flat rows would have to be gathered from all devices.
            return ops.take_along_axis(x, positions[:, :, None], axis=1)
        batch, length = ops.shape(x)[0], ops.shape(x)[1]
        first = ops.arange(batch, dtype="int32")[:, None] * length
        rows = ops.reshape(x, (-1, x.shape[-1]))
        return ops.take(rows, positions + first, axis=0)

    def compute_mask(self, x, previous_mask):
        return None

    def compute_output_spec(self, x, positions):
        shape = self.compute_output_shape(x.shape, positions.shape)
        return keras.KerasTensor(shape, dtype=x.dtype)

    def compute_output_shape(self, x_shape, positions_shape):
        return (*positions_shape, x_shape[-1])


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SequencePositions(keras.layers.Layer):
    """Returns the positions of packed rows, which restart in each sequence.

    Call arguments:
        sequence_ids: Integers `(B, S)`, equal for all tokens of a sequence. The
            tokens of a sequence are adjacent.

    Output shape:
        `(B, S)` int32, 0 at the first token of each sequence.
    """

    def call(self, sequence_ids):
        # Counts the tokens of the same sequence before each token. A cumulative
        # maximum needs less memory, but XLA cannot compile TensorFlow's.
        length = ops.shape(sequence_ids)[1]
        indices = ops.arange(length, dtype="int32")
        before = ops.less(indices[None, :], indices[:, None])  # (S, S)
        same = ops.equal(sequence_ids[:, :, None], sequence_ids[:, None, :])
        return ops.sum(ops.cast(ops.logical_and(same, before), "int32"), axis=-1)

    def compute_output_spec(self, sequence_ids):
        return keras.KerasTensor(sequence_ids.shape, dtype="int32")

    def compute_output_shape(self, sequence_ids_shape):
        return sequence_ids_shape
