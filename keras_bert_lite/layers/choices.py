"""Multiple choice: one row a choice inside, one row a question outside."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SplitChoices(keras.layers.Layer):
    """Makes each choice a row of its own: `(B, C, S)` -> `(B C, S)`.

    Call arguments:
        x: A tensor of rank 3.
    """

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[-1]))

    def compute_output_spec(self, x):
        batch, choices, length = x.shape
        rows = None if None in (batch, choices) else batch * choices
        return keras.KerasTensor((rows, length), dtype=x.dtype)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class JoinChoices(keras.layers.Layer):
    """Puts the scores of choices into rows again: `(B C, 1)` -> `(B, C)`.

    Call arguments:
        x: Scores of shape `(B C, 1)`.
        like: The tensor `(B, C, S)` that was split.
    """

    def call(self, x, like):
        return ops.reshape(x, ops.shape(like)[:2])

    def compute_output_spec(self, x, like):
        return keras.KerasTensor(like.shape[:2], dtype=x.dtype)
