"""The encoder block."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.attention.disentangled_attention import (
    DisentangledAttention,
)
from keras_bert_lite.layers.attention.self_attention import SelfAttention
from keras_bert_lite.layers.base import BlockPart, padding_mask_of
from keras_bert_lite.layers.execution.padded_rows import PaddedRows
from keras_bert_lite.layers.feed_forward import FeedForward

# The call arguments that all blocks share and that have gradients.
SHARED = ("relative_embeddings", "relative_biases")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EncoderBlock(BlockPart):
    """Self-attention and a feed-forward network with residual connections.

        x ─┬─ attention_input_norm ─ attention ─ dropout ─┐
           └──────────────────────────────────────────── (+) ─ attention_norm ─ y
        y ─┬─ feed_forward_input_norm ─ feed_forward ─ dropout ─┐
           └────────────────────────────────────────────────── (+) ─ output_norm

    `Norms` selects the normalizations. The default is post-norm,
    `y = LayerNorm(x + Attention(x))` and `output = LayerNorm(y + FeedForward(y))`,
    with dropout before each sum.

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary.
            With `relative_positions`, attention is `DisentangledAttention`.
        layer: The index of the encoder layer, from 0.

    Call arguments:
        x, padding_mask, sequence_ids, return_weights, rows, relative_biases:
            See `SelfAttention`.
        relative_embeddings: See `DisentangledAttention`.

    Output shape:
        `(B, S, H)`; with `return_weights`, also `(B, N, S, S)`.

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.1.
    """

    def __init__(
        self, config: EncoderConfig | dict[str, Any], layer: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(config, layer, **kwargs)
        relative = self.config.relative_positions is not None
        attention = DisentangledAttention if relative else SelfAttention
        norms = self.config.norms
        first = norms.before and (norms.first or layer > 0)
        self.attention_input_norm = self._norm("attention_input_norm", first)
        self.attention: SelfAttention = attention(
            self.config, layer, dtype=self.dtype_policy, name="attention"
        )
        self.attention_norm = self._norm("attention_norm", norms.after)
        self.feed_forward_input_norm = self._norm(
            "feed_forward_input_norm", norms.before
        )
        self.feed_forward = FeedForward(
            self.config, dtype=self.dtype_policy, name="feed_forward"
        )
        self.output_norm = self._norm("output_norm", norms.after)
        self.dropout = self._dropout(self.config.dropout)

    def _norm(self, name: str, there: bool) -> keras.layers.Layer | None:
        return self._layer_norm(name) if there else None

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        for layer in (
            self.attention_input_norm,
            self.attention,
            self.attention_norm,
            self.feed_forward_input_norm,
            self.feed_forward,
            self.output_norm,
            self.dropout,
        ):
            if layer is not None:
                layer.build(x_shape)

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        relative_embeddings=None,
        relative_biases=None,
        training=None,
    ):
        if rows is None:
            shape = ops.shape(x)[:2]
            mask = padding_mask_of(x, padding_mask)
            rows = PaddedRows(self.config, shape, mask, sequence_ids, return_weights)
        relative: dict[str, Any] = {}
        if self.config.relative_positions is not None:
            relative["relative_embeddings"] = relative_embeddings
        attended = self.attention(
            _normalized(x, self.attention_input_norm),
            return_weights=return_weights,
            rows=rows,
            relative_biases=relative_biases,
            training=training,
            **relative,
        )
        attended, weights = attended if return_weights else (attended, None)
        y = x + self.dropout(attended, training=training)
        y = _normalized(y, self.attention_norm)
        fed = self.feed_forward(_normalized(y, self.feed_forward_input_norm))
        output = y + self.dropout(fed, training=training)
        output = _normalized(output, self.output_norm)
        return (output, weights) if return_weights else output

    def recomputed(self, x, **arguments):
        """Calls the block in training and recomputes it for the gradients.

        Dropout uses copies of the states of its seed generators, so the recomputation
        drops the same values. `keras.remat` alone samples new values under TensorFlow,
        which makes the gradients wrong, and fails under JAX.
        """
        own = {id(weight) for weight in self.weights}  # the others are seeds
        weights = [x.value for x in self.trainable_variables]
        others = self.non_trainable_variables
        # Copies: TensorFlow returns the variable itself, which will change.
        states = [x.value if id(x) in own else ops.copy(x.value) for x in others]
        shared = {x: arguments.pop(x) for x in SHARED if x in arguments}

        # TensorFlow computes gradients only for arguments.
        def call(x, shared, weights):
            return self.stateless_call(weights, states, x, **shared, **arguments)

        output, states_after = keras.remat(call)(x, shared, weights)
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


def _normalized(x, norm: keras.layers.Layer | None):
    return x if norm is None else norm(x)
