"""The convolution over tokens."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice, check_positive
from keras_bert_lite.config import ACTIVATIONS
from keras_bert_lite.layer_config import config_of_part
from keras_bert_lite.layers.base import (
    EncoderPart,
    activation_function,
    check_divides,
    check_rows,
    check_states,
    norm_of,
    padding_mask_of,
)
from keras_bert_lite.sizes import check_fits


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TokenConvolution(EncoderPart):
    """Convolution over neighbouring tokens, in addition to attention (DeBERTa).

    `LayerNorm(residual + activation(Dropout(Conv(x))))`; padding and
    neighbours beyond the ends of the row are zeros. In the encoder, `x` is the input
    and `residual` the output of the first block.

    The kernel, `(size, H / groups, H)`, is torch's `Conv1d.weight`, `(H,
    H / groups, size)`, with its axes in reverse order.

    Args:
        kernel_size: Number of neighbouring tokens in a sum, odd.
        groups: Number of groups of channels; must divide the width of `x` (H).
        activation: See `FeedForward`.
        dropout: Dropout rate of the convolution's output.
        norm: Whether the sum is normalized, or a normalization layer.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        residual: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions. `None`:
            the Keras mask of `x`; without one, all are real.

    Output shape:
        `(B, S, H)`; zeros at padding.

    Raises:
        ValueError: If `kernel_size` is even, or `x` has another rank or a width that
            `groups` do not divide.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), and the
    code of version 2.
    """

    def __init__(
        self,
        kernel_size: int = 3,
        groups: int = 1,
        activation: str = "tanh",
        dropout: float = 0.1,
        norm: keras.layers.Layer | bool | dict[str, Any] = True,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("kernel_size", kernel_size)
        if kernel_size % 2 == 0:
            raise ValueError(f"`kernel_size` must be odd. Received: {kernel_size}")
        check_positive("groups", groups)
        check_choice("activation", activation, ACTIVATIONS)
        self.kernel_size = kernel_size
        self.groups = groups
        self.activation = activation
        self.convolution: Any = None  # as wide as the input, so made in `build`
        self.dropout = self._dropout(dropout)
        self.norm = norm_of(norm, "norm", self.dtype_policy)

    def build(self, x_shape, residual_shape=None, padding_mask_shape=None):
        check_states(x_shape)
        width = x_shape[-1]
        check_divides("groups", self.groups, x_shape)
        check_fits("`kernel_size`", self.kernel_size * width**2 // self.groups)
        self.convolution = keras.layers.Conv1D(
            width,
            self.kernel_size,
            padding="same",
            groups=self.groups,
            data_format="channels_last",
            kernel_initializer=self._initializer(),
            trainable=self.trainable,
            dtype=self.dtype_policy,
            name="convolution",
        )
        for layer in (self.convolution, self.dropout, self.norm):
            if layer is not None:
                layer.build(x_shape)

    def call(self, x, residual, padding_mask=None, training=None):
        padding_mask = padding_mask_of(x, padding_mask)
        check_rows(x, padding_mask=padding_mask)
        if 0 not in x.shape:  # Keras 3.13 refuses empty results
            x = self.convolution(_at_real(x, padding_mask))
        x = self.dropout(x, training=training)
        x = residual + activation_function(self.activation)(x)
        return _at_real(x if self.norm is None else self.norm(x), padding_mask)

    def compute_output_spec(self, x, residual, padding_mask=None, training=None):
        return keras.KerasTensor(x.shape, dtype=self.compute_dtype)

    def compute_output_shape(
        self, x_shape, residual_shape=None, padding_mask_shape=None
    ):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "kernel_size": self.kernel_size,
            "groups": self.groups,
            "activation": self.activation,
            "dropout": self.dropout.rate,
            "norm": config_of_part(self.norm),
        }


def _at_real(x, padding_mask):
    """Returns `x` with zeros at padding."""
    if padding_mask is None:
        return x
    real = ops.cast(padding_mask, "bool")[:, :, None]
    return ops.where(real, x, ops.zeros_like(x))
