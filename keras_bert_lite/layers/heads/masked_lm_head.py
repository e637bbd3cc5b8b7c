"""The head of masked language models."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_bool, check_choice, check_positive
from keras_bert_lite.config import ACTIVATIONS
from keras_bert_lite.layers.base import EncoderPart, activation_function
from keras_bert_lite.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MaskedLMTransform(EncoderPart):
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
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("embedding_dim", embedding_dim)
        check_choice("activation", activation, ACTIVATIONS)
        self.embedding_dim = embedding_dim
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        for name, value in {"use_bias": use_bias, "norm_bias": norm_bias}.items():
            check_bool(name, value)
        self.use_bias = use_bias
        self.norm_bias = norm_bias
        self.dense = self._dense(
            embedding_dim, "dense", use_bias, activation_function(activation)
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
        }


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class VocabularyScores(keras.layers.Layer):
    """Scores vectors against token embeddings, `x table^T`: a tied head.

    Call arguments:
        x: Floats of shape `(B, S, E)`.
        table: The token embeddings, `(V, E)`: the second output of `Embeddings` with
            `return_table`.

    Output shape:
        `(B, S, V)`.

    Reference: [Press and Wolf, 2017](https://arxiv.org/abs/1608.05859).
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"autocast": False, **kwargs})
        self.supports_masking = True

    def call(self, x, table):
        x = ops.cast(x, self.compute_dtype)
        if keras.backend.backend() == "jax" and keras.distribution.distribution():
            from keras_bert_lite.layers import tied_table

            return tied_table.scores(x, table)
        return ops.matmul(x, ops.transpose(ops.cast(table, self.compute_dtype)))

    def compute_output_spec(self, x, table):
        shape = self.compute_output_shape(x.shape, table.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(self, x_shape, table_shape):
        if len(table_shape) != 2 or table_shape[-1] != x_shape[-1]:
            raise ValueError(
                "`table` must have the shape (vocabulary, width), of the width of `x`. "
                f"Received: {tuple(table_shape)}, and `x` of shape {tuple(x_shape)}"
            )
        return (*x_shape[:-1], table_shape[0])


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class VocabularyBias(keras.layers.Layer):
    """Adds a bias for each piece of the vocabulary.

    Call arguments:
        x: Floats of shape `(B, S, V)`, such as those of `VocabularyScores`.

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
