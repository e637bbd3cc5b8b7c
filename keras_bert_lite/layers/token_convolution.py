"""The convolution over tokens."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_positive
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.base import EncoderPart, activation_function


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TokenConvolution(EncoderPart):
    """Convolution over neighbouring tokens, in addition to attention (DeBERTa).

    `LayerNorm(residual + activation(Dropout(Conv(x))))`; padding and
    neighbours beyond the ends of the row are zeros. In the encoder, `x` is the input
    and `residual` the output of the first block.

    The kernel, `(size, H / groups, H)`, is torch's `Conv1d.weight`, `(H,
    H / groups, size)`, with its axes in reverse order.

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary. It
            uses `hidden_dim`, `convolution_size` (not 0), `convolution_groups`,
            `convolution_activation`, `dropout`, `layer_norm_epsilon`, `norms.bias`
            and `initializer_range`.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        residual: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions; all
            are real if absent.

    Output shape:
        `(B, S, H)`; zeros at padding.

    Raises:
        ValueError: If `convolution_size` is 0, or `x` has another width or rank.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), and the
    code of version 2.
    """

    def __init__(self, config: EncoderConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        check_positive("convolution_size", self.config.convolution_size)
        self.convolution = keras.layers.Conv1D(
            self.config.hidden_dim,
            self.config.convolution_size,
            padding="same",
            groups=self.config.convolution_groups,
            data_format="channels_last",
            kernel_initializer=self._initializer(),
            dtype=self.dtype_policy,
            name="convolution",
        )
        self.dropout = self._dropout(self.config.dropout)
        self.norm = self._layer_norm("norm")

    def build(self, x_shape, residual_shape=None, padding_mask_shape=None):
        self._check_width(x_shape)
        for layer in (self.convolution, self.dropout, self.norm):
            layer.build(x_shape)

    def call(self, x, residual, padding_mask=None, training=None):
        if 0 not in x.shape:  # Keras 3.13 refuses empty results
            x = self.convolution(_at_real(x, padding_mask))
        x = self.dropout(x, training=training)
        x = activation_function(self.config.convolution_activation)(x)
        return _at_real(self.norm(residual + x), padding_mask)

    def compute_output_spec(self, x, residual, padding_mask=None, training=None):
        return keras.KerasTensor(x.shape, dtype=self.compute_dtype)

    def compute_output_shape(
        self, x_shape, residual_shape=None, padding_mask_shape=None
    ):
        return x_shape


def _at_real(x, padding_mask):
    """Returns `x` with zeros at padding."""
    if padding_mask is None:
        return x
    real = ops.cast(padding_mask, "bool")[:, :, None]
    return ops.where(real, x, ops.zeros_like(x))
