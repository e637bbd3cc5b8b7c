"""The encoder block and the stack of blocks."""

from typing import Any

import keras

from keras_bert_lite.config import ACTIVATIONS, check_choice, check_positive, check_rate
from keras_bert_lite.layers.attention import SelfAttention
from keras_bert_lite.layers.base import (
    CompositeLayer,
    activation_function,
    initializer,
)


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

    Call arguments:
        x, padding_mask, sequence_ids, return_weights: See `SelfAttention`.

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
        self.attention = SelfAttention(
            num_heads,
            hidden_dim,
            dropout=attention_dropout,
            initializer_range=initializer_range,
            dtype=self.dtype_policy,
            name="attention",
        )
        self.attention_norm = self._layer_norm("attention_norm")
        self.intermediate_dense = self._dense(
            intermediate_dim, "intermediate_dense", activation_function(activation)
        )
        self.output_dense = self._dense(hidden_dim, "output_dense")
        self.output_norm = self._layer_norm("output_norm")
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def _dense(self, units: int, name: str, activation=None) -> keras.layers.Dense:
        return keras.layers.Dense(
            units,
            activation=activation,
            kernel_initializer=initializer(self.initializer_range),
            dtype=self.dtype_policy,
            name=name,
        )

    def _layer_norm(self, name: str) -> keras.layers.LayerNormalization:
        return keras.layers.LayerNormalization(
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
        training=None,
    ):
        attended = self.attention(
            x,
            padding_mask=padding_mask,
            sequence_ids=sequence_ids,
            return_weights=return_weights,
            training=training,
        )
        attended, weights = attended if return_weights else (attended, None)
        x = self.attention_norm(x + self.dropout(attended, training=training))
        y = self.output_dense(self.intermediate_dense(x))
        output = self.output_norm(x + self.dropout(y, training=training))
        return (output, weights) if return_weights else output

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
        }


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Encoder(CompositeLayer):
    """A stack of encoder blocks.

    Args:
        num_layers: Number of blocks (L).
        num_heads, hidden_dim, intermediate_dim, dropout, attention_dropout,
        activation, layer_norm_epsilon, initializer_range: See `EncoderBlock`.
        share_layers: Whether one block is run L times (as ALBERT), rather
            than L blocks once each.
        hidden_states: Whether to return the input and every block's output.
        attentions: Whether to return every block's attention weights.
        blocks: Blocks of another `Encoder` to share; see `with_outputs`.

    Call arguments:
        x, padding_mask, sequence_ids: See `SelfAttention`.

    Output shape:
        A dictionary: `sequence_output` `(B, S, H)`; on request `hidden_states`,
        a list of L + 1 of `(B, S, H)`, the input first; and `attentions`, a
        list of L of `(B, N, S, S)`.
    """

    def __init__(
        self,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        intermediate_dim: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        activation: str = "gelu",
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        share_layers: bool = False,
        hidden_states: bool = False,
        attentions: bool = False,
        blocks: list[EncoderBlock] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("num_layers", num_layers)
        self.num_layers = num_layers
        self.share_layers = share_layers
        self.hidden_states = hidden_states
        self.attentions = attentions
        self._block_config: dict[str, Any] = {
            "num_heads": num_heads,
            "hidden_dim": hidden_dim,
            "intermediate_dim": intermediate_dim,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "activation": activation,
            "layer_norm_epsilon": layer_norm_epsilon,
            "initializer_range": initializer_range,
        }
        self.blocks = blocks or [
            EncoderBlock(
                **self._block_config, dtype=self.dtype_policy, name=f"block_{i}"
            )
            for i in range(1 if share_layers else num_layers)
        ]

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        for block in self.blocks:
            if not block.built:  # blocks may be shared; see `with_outputs`
                block.build(x_shape)

    def call(self, x, padding_mask=None, sequence_ids=None, training=None):
        states, maps = [x], []
        for i in range(self.num_layers):
            output = self.blocks[i % len(self.blocks)](
                x,
                padding_mask=padding_mask,
                sequence_ids=sequence_ids,
                return_weights=self.attentions,
                training=training,
            )
            x, weights = output if self.attentions else (output, None)
            if self.hidden_states:
                states.append(x)
            maps.append(weights)
        return self._named(x, states, maps)

    def compute_output_spec(
        self, x, padding_mask=None, sequence_ids=None, training=None
    ):
        spec = self.blocks[0].compute_output_spec
        specs = [spec(x, return_weights=True) for _ in range(self.num_layers + 1)]
        states = [output for output, _ in specs]
        return self._named(spec(x), states, [weights for _, weights in specs[1:]])

    def _named(self, sequence_output, states, maps) -> dict[str, Any]:
        outputs = {"sequence_output": sequence_output}
        if self.hidden_states:
            outputs["hidden_states"] = states
        if self.attentions:
            outputs["attentions"] = maps
        return outputs

    def compute_output_shape(
        self, x_shape, padding_mask_shape=None, sequence_ids_shape=None
    ):
        batch, length, _ = x_shape
        weights = (batch, self._block_config["num_heads"], length, length)
        states = [tuple(x_shape) for _ in range(self.num_layers + 1)]
        return self._named(tuple(x_shape), states, [weights] * self.num_layers)

    def with_outputs(self, hidden_states: bool, attentions: bool) -> "Encoder":
        """Returns a layer of the same blocks, hence weights, with other outputs."""
        outputs = {"hidden_states": hidden_states, "attentions": attentions}
        config = {**self.get_config(), **outputs, "dtype": self.dtype_policy}
        return Encoder(**config, blocks=self.blocks)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_layers": self.num_layers,
            **self._block_config,
            "share_layers": self.share_layers,
            "hidden_states": self.hidden_states,
            "attentions": self.attentions,
        }
