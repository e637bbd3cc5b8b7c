"""Layers for rows of several texts: choices, windows, pairs to compare.

Inside the encoder each text is a row of its own.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite.checks import check_bool
from keras_bert_lite.layers.unit_normalization import unit_vectors


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class FlattenGroups(keras.layers.Layer):
    """Turns each text into a row of its own: `(B, C, S)` -> `(B C, S)`.

    Call arguments:
        x: A tensor of rank 3.
    """

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[-1]))

    def compute_output_spec(self, x):
        return keras.KerasTensor(self.compute_output_shape(x.shape), dtype=x.dtype)

    def compute_output_shape(self, x_shape):
        batch, choices, length = x_shape
        return (None if None in (batch, choices) else batch * choices, length)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RestoreGroups(keras.layers.Layer):
    """Groups the rows of texts again: `(B C, H)` -> `(B, C, H)`, or `(B, C)` for
    scores (H = 1).

    Call arguments:
        x: A tensor of shape `(B C, H)`.
        like: The tensor `(B, C, S)` before `FlattenGroups`.
    """

    def call(self, x, like):
        width = () if x.shape[-1] == 1 else x.shape[-1:]
        return ops.reshape(x, (*ops.shape(like)[:2], *width))

    def compute_output_spec(self, x, like):
        shape = self.compute_output_shape(x.shape, like.shape)
        return keras.KerasTensor(shape, dtype=x.dtype)

    def compute_output_shape(self, x_shape, like_shape):
        width = () if x_shape[-1] == 1 else x_shape[-1:]
        return (*like_shape[:2], *width)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class CompareTexts(keras.layers.Layer):
    """Joins the vectors u and v of two texts: `u, v, |u - v|, u v`.

    u and v are scaled to length 1 first, so that the sum of `u v` is their cosine,
    which encoders of sentences were trained for.

    Args:
        choices: Whether the first text is compared with each of C others. u is then
            the same for all of them, which only a head with a hidden layer can use.

    Call arguments:
        x: The vectors `(B, 2, H)`; with `choices`, `(B, 1 + C, H)`.

    Output shape:
        `(B, 4 H)`; with `choices`, `(B, C, 4 H)`.

    Reference: [Conneau et al., 2017](https://arxiv.org/abs/1705.02364), section 3.1.
    """

    def __init__(self, choices: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_bool("choices", choices)
        self.choices = choices

    def call(self, x):
        x = unit_vectors(x)
        u, v = (x[:, :1], x[:, 1:]) if self.choices else (x[:, 0], x[:, 1])
        u = u + ops.zeros_like(v)
        return ops.concatenate([u, v, ops.absolute(u - v), u * v], axis=-1)

    def cosine_weights(self, width: int) -> np.ndarray:
        """Returns weights `(4 H, 1)` with which an output sums up to the cosine.

        Args:
            width: H, the width of the vectors.
        """
        return np.repeat([0.0, 0.0, 0.0, 1.0], width)[:, None]

    def compute_output_spec(self, x):
        return keras.KerasTensor(self.compute_output_shape(x.shape), dtype=x.dtype)

    def compute_output_shape(self, x_shape):
        batch, texts, width = x_shape
        choices = (None if texts is None else texts - 1,) if self.choices else ()
        return (batch, *choices, 4 * width)

    def get_config(self):
        return {**super().get_config(), "choices": self.choices}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class AnyToken(keras.layers.Layer):
    """Returns which texts have any real tokens: `(B, C, S)` -> `(B, C)`.

    Call arguments:
        padding_mask: Booleans, true at real tokens.
    """

    def call(self, padding_mask):
        return ops.any(ops.cast(padding_mask, "bool"), axis=-1)

    def compute_output_spec(self, padding_mask):
        shape = self.compute_output_shape(padding_mask.shape)
        return keras.KerasTensor(shape, dtype="bool")

    def compute_output_shape(self, padding_mask_shape):
        return padding_mask_shape[:-1]
