"""The convolution over tokens."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import ACTIVATIONS, check_choice, check_positive, check_rate
from keras_bert_lite.layers.base import (
    CompositeLayer,
    Initializer,
    activation_function,
)
from keras_bert_lite.layers.normalization import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TokenConvolution(CompositeLayer):
    """Convolves over neighbouring tokens, for n-grams beside attention (DeBERTa).

    `LayerNorm(residual + activation(Dropout(Conv(x))))`; neighbours beyond the
    ends of the row, and padding, count as zeros. The encoder's `x` is its input
    and `residual` the output of its first block.

    The kernel, `(kernel_size, H / groups, H)`, is torch's `Conv1d.weight`, `(H,
    H / groups, kernel_size)`, with its axes in reverse order.

    Args:
        hidden_dim: Width of input and output (H).
        kernel_size: Tokens that an output sees; odd, half on each side.
        groups: Parts of H that are convolved apart; must divide `hidden_dim`.
        activation: See `EncoderConfig`.
        dropout: Rate of dropout on the convolution's output.
        layer_norm_epsilon: Added to the variance in the normalization.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        residual: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions; all
            are real if absent.

    Output shape:
        `(B, S, H)`; zeros at padding.

    Raises:
        ValueError: If an argument is out of its range, or `x` has another width
            or rank.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), the code of
    version 2.
    """

    def __init__(
        self,
        hidden_dim: int,
        kernel_size: int = 3,
        groups: int = 1,
        activation: str = "tanh",
        dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-7,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("hidden_dim", hidden_dim)
        _check_kernel_size(kernel_size)
        _check_groups(groups, hidden_dim)
        check_choice("activation", activation, ACTIVATIONS)
        check_rate("dropout", dropout)
        self.hidden_dim = hidden_dim
        self.kernel_size = kernel_size
        self.groups = groups
        self.activation = activation
        self.dropout_rate = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.convolution = keras.layers.Conv1D(
            hidden_dim,
            kernel_size,
            padding="same",
            groups=groups,
            data_format="channels_last",
            kernel_initializer=Initializer(stddev=initializer_range),
            dtype=self.dtype_policy,
            name="convolution",
        )
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.norm = LayerNorm(
            epsilon=layer_norm_epsilon, dtype=self.dtype_policy, name="norm"
        )

    def build(self, x_shape, residual_shape=None, padding_mask_shape=None):
        if len(x_shape) != 3 or x_shape[-1] != self.hidden_dim:
            raise ValueError(
                "`x` must have the shape (batch, sequence, "
                f"{self.hidden_dim}). Received: {tuple(x_shape)}"
            )
        for layer in (self.convolution, self.dropout, self.norm):
            layer.build(x_shape)

    def call(self, x, residual, padding_mask=None, training=None):
        x = self.convolution(_at_real(x, padding_mask))
        x = self.dropout(x, training=training)
        x = activation_function(self.activation)(x)
        return _at_real(self.norm(residual + x), padding_mask)

    def compute_output_spec(self, x, residual, padding_mask=None, training=None):
        return keras.KerasTensor(x.shape, dtype=self.compute_dtype)

    def compute_output_shape(
        self, x_shape, residual_shape=None, padding_mask_shape=None
    ):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "kernel_size": self.kernel_size,
            "groups": self.groups,
            "activation": self.activation,
            "dropout": self.dropout_rate,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }


def _at_real(x, padding_mask):
    """Zeros at padding."""
    if padding_mask is None:
        return x
    real = ops.cast(padding_mask, "bool")[:, :, None]
    return ops.where(real, x, ops.zeros_like(x))


def _check_kernel_size(kernel_size: Any) -> None:
    check_positive("kernel_size", kernel_size)
    if kernel_size % 2 == 0:
        raise ValueError(f"`kernel_size` must be odd. Received: {kernel_size}")


def _check_groups(groups: Any, hidden_dim: int) -> None:
    check_positive("groups", groups)
    if hidden_dim % groups:
        raise ValueError(
            "`groups` must divide `hidden_dim`. "
            f"Received: groups={groups}, hidden_dim={hidden_dim}"
        )
