"""The head of masked language models."""

from typing import Any

import keras

from keras_bert_lite.checks import check_bool, check_choice, check_positive
from keras_bert_lite.config import ACTIVATIONS
from keras_bert_lite.layers.base import (
    CompositeLayer,
    Initializer,
    activation_function,
)
from keras_bert_lite.layers.execution.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MaskedLMTransform(CompositeLayer):
    """The transform of a masked language model before the vocabulary.

    `LayerNorm(activation(W x + b))`, from the width of the hidden states to the width
    of the embeddings.

    Args:
        embedding_dim: Width of the output (E).
        activation: See `EncoderConfig`.
        layer_norm_epsilon: Added to the variance in the normalization.
        use_bias: Whether the dense layer has a bias (b).
        norm_bias: Whether the normalization has a bias.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`.

    Output shape:
        `(B, S, E)`.

    Reference: `get_masked_lm_output` in google-research/bert.
    """

    def __init__(
        self,
        embedding_dim: int,
        activation: str = "gelu",
        layer_norm_epsilon: float = 1e-12,
        use_bias: bool = True,
        norm_bias: bool = True,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("embedding_dim", embedding_dim)
        check_choice("activation", activation, ACTIVATIONS)
        self.embedding_dim = embedding_dim
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        for name, value in {"use_bias": use_bias, "norm_bias": norm_bias}.items():
            check_bool(name, value)
        self.use_bias = use_bias
        self.norm_bias = norm_bias
        self.initializer_range = initializer_range
        self.dense = keras.layers.Dense(
            embedding_dim,
            activation=activation_function(activation),
            use_bias=use_bias,
            kernel_initializer=Initializer(stddev=initializer_range),
            dtype=self.dtype_policy,
            name="dense",
        )
        self.layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon,
            center=norm_bias,
            dtype=self.dtype_policy,
            name="layer_norm",
        )

    def build(self, x_shape):
        self.dense.build(x_shape)
        self.layer_norm.build((*x_shape[:-1], self.embedding_dim))

    def call(self, x):
        return self.layer_norm(self.dense(x))

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], self.embedding_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "embedding_dim": self.embedding_dim,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "use_bias": self.use_bias,
            "norm_bias": self.norm_bias,
            "initializer_range": self.initializer_range,
        }


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class VocabularyBias(keras.layers.Layer):
    """Adds a bias for each piece of the vocabulary.

    Call arguments:
        x: Floats of shape `(B, S, V)`, such as those of `Embeddings(reverse=True)`.

    Output shape:
        `(B, S, V)`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, x_shape):
        self.bias = self.add_weight(
            shape=(x_shape[-1],), initializer="zeros", name="bias"
        )

    def call(self, x):
        return x + self.bias

    def compute_output_shape(self, x_shape):
        return x_shape
