"""The encoder block."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import (
    ACTIVATIONS,
    RelativePositions,
    check_choice,
    check_positive,
    check_rate,
    relative_positions_dict,
    relative_positions_of,
)
from keras_bert_lite.layers.attention import SelfAttention
from keras_bert_lite.layers.base import (
    CompositeLayer,
    Initializer,
    activation_function,
)
from keras_bert_lite.layers.disentangled_attention import DisentangledAttention
from keras_bert_lite.layers.normalization import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EncoderBlock(CompositeLayer):
    """Self-attention and a feed-forward network, each added and normalized.

    `y = LayerNorm(x + Attention(x))`,
    `output = LayerNorm(y + W2 activation(W1 y))`, with dropout before each sum.

    Args:
        num_heads: Attention heads; must divide `hidden_dim`.
        hidden_dim: Width of input and output (H).
        intermediate_dim: Width between the two feed-forward layers.
        dropout: Rate of dropout on the output of both sublayers.
        attention_dropout: Rate of dropout on the attention weights.
        activation: See `EncoderConfig`.
        layer_norm_epsilon: Added to the variance in the normalizations.
        initializer_range: Standard deviation of the initial weights.
        relative_positions: For `DisentangledAttention` in place of
            `SelfAttention`; a `RelativePositions` or its dictionary.

    Call arguments:
        x, padding_mask, sequence_ids, return_weights, rows: See `SelfAttention`.
        relative_embeddings: See `DisentangledAttention`.

    Output shape:
        `(B, S, H)`; with `return_weights`, also `(B, N, S, S)`.

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.1.
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        intermediate_dim: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        activation: str = "gelu",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        relative_positions: RelativePositions | dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("intermediate_dim", intermediate_dim)
        check_rate("dropout", dropout)
        check_choice("activation", activation, ACTIVATIONS)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout_rate = dropout
        self.attention_dropout_rate = attention_dropout
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.relative_positions = relative_positions_of(relative_positions)
        self.attention = self._attention()
        self.attention_norm = self._layer_norm("attention_norm")
        self.intermediate_dense = self._dense(
            intermediate_dim, "intermediate_dense", activation_function(activation)
        )
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.output_norm = self._layer_norm("output_norm")
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def _attention(self) -> SelfAttention:
        relative = self.relative_positions
        arguments: dict[str, Any] = {
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "dropout": self.attention_dropout_rate,
            "initializer_range": self.initializer_range,
            "dtype": self.dtype_policy,
            "name": "attention",
        }
        if relative is None:
            return SelfAttention(**arguments)
        return DisentangledAttention(
            **arguments,
            max_relative_positions=relative.max_distance,
            position_buckets=relative.buckets,
            relative_terms=relative.terms,
            share_position_projections=relative.share_projections,
            position_dropout=self.dropout_rate,
        )

    def _dense(self, units: int, name: str, activation=None) -> keras.layers.Dense:
        return keras.layers.Dense(
            units,
            activation=activation,
            kernel_initializer=Initializer(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name=name,
        )

    def _layer_norm(self, name: str) -> LayerNorm:
        return LayerNorm(
            epsilon=self.layer_norm_epsilon, dtype=self.dtype_policy, name=name
        )

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        self.attention.build(x_shape)
        self.attention_norm.build(x_shape)
        self.intermediate_dense.build(x_shape)
        self.output_dense.build((*x_shape[:-1], self.intermediate_dim))
        self.output_norm.build(x_shape)
        self.dropout.build(x_shape)

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        relative_embeddings=None,
        training=None,
    ):
        relative = {}
        if self.relative_positions is not None:
            relative["relative_embeddings"] = relative_embeddings
        attended = self.attention(
            x,
            padding_mask=padding_mask,
            sequence_ids=sequence_ids,
            return_weights=return_weights,
            rows=rows,
            training=training,
            **relative,
        )
        attended, weights = attended if return_weights else (attended, None)
        x = self.attention_norm(x + self.dropout(attended, training=training))
        y = self.output_dense(self.intermediate_dense(x))
        output = self.output_norm(x + self.dropout(y, training=training))
        return (output, weights) if return_weights else output

    def recomputed(self, x, relative_embeddings=None, **arguments):
        """Calls the block in training, but computes it again for the gradients.

        Inside, dropout draws its seeds from copies of its generators' states, so
        that it drops the same the second time. `keras.remat` alone draws anew
        under TensorFlow, which makes gradients wrong, and fails under JAX.
        """
        own = {id(weight) for weight in self.weights}  # the others are seeds
        weights = [x.value for x in self.trainable_variables]
        others = self.non_trainable_variables
        # Copies, for TensorFlow gives the variable, which is to change.
        states = [x.value if id(x) in own else ops.copy(x.value) for x in others]
        relative = [] if relative_embeddings is None else [relative_embeddings]

        # What has gradients is an argument: TensorFlow looks only there.
        def call(x, relative, weights):
            table = relative[0] if relative else None
            return self.stateless_call(
                weights, states, x, relative_embeddings=table, **arguments
            )

        output, states_after = keras.remat(call)(x, relative, weights)
        for variable, state in zip(others, states_after, strict=True):
            if id(variable) not in own:
                variable.assign(state)
        return output

    def compute_output_spec(self, x, *args, **kwargs):
        return self.attention.compute_output_spec(x, *args, **kwargs)

    def compute_output_shape(
        self, x_shape, padding_mask_shape=None, sequence_ids_shape=None
    ):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "intermediate_dim": self.intermediate_dim,
            "dropout": self.dropout_rate,
            "attention_dropout": self.attention_dropout_rate,
            "activation": self.activation,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
            "relative_positions": relative_positions_dict(self.relative_positions),
        }
