"""The encoder block."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_bool, check_rate
from keras_bert_lite.layer_config import config_of_part
from keras_bert_lite.layers.attention.self_attention import SelfAttention
from keras_bert_lite.layers.base import (
    CompositeLayer,
    norm_of,
    padding_mask_of,
    part_of,
    with_mask,
)
from keras_bert_lite.layers.dropout import Dropout
from keras_bert_lite.layers.feed_forward import FeedForward

# The call arguments that all blocks share and that have gradients.
SHARED_ARGUMENTS = ("relative_embeddings", "biases")
PRE_NORMS = ("attention_input_norm", "feed_forward_input_norm")
POST_NORMS = ("attention_norm", "output_norm")
NORM_SLOTS = (*PRE_NORMS, *POST_NORMS)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EncoderBlock(CompositeLayer):
    """Self-attention and a feed-forward network with residual connections.

        x ─┬─ attention_input_norm ─ attention ─ dropout ─┐
           └──────────────────────────────────────────── (+) ─ attention_norm ─ y
        y ─┬─ feed_forward_input_norm ─ feed_forward ─ dropout ─┐
           └────────────────────────────────────────────────── (+) ─ output_norm

    By default it is post-norm, `y = LayerNorm(x + Attention(x))` and
    `output = LayerNorm(y + FeedForward(y))`, with dropout before each sum.

    Args:
        num_heads: Number of attention heads, if no `attention` is given.
        intermediate_dim: Width of the feed-forward network, if no `feed_forward` is
            given.
        dropout: Dropout rate of the outputs of both, and of the attention weights if
            no `attention` is given.
        attention: A `SelfAttention`, such as a `DisentangledAttention`.
        feed_forward: A `FeedForward`, or another layer that works on each token by
            itself: where padding is left out, it is given `(T, H)`.
        normalize_first: Whether the inputs of attention and feed-forward network are
            normalized (pre-norm), and not the sums.
        norms: The normalization layers by their names in the drawing, instead; names
            that are missing stand for no normalization. They too are given `(T, H)`.

    Call arguments:
        x, padding_mask, sequence_ids, biases, return_weights, layout:
            See `SelfAttention`.
        relative_embeddings: See `DisentangledAttention`.

    Output shape:
        `(B, S, H)`; with `return_weights`, also `(B, N, S, S)`.

    Raises:
        TypeError: If a part is another kind of object.
        ValueError: If neither a part nor its size is given, or both are.

    Example:

    >>> layer = EncoderBlock(num_heads=4, intermediate_dim=1024)
    >>> layer(keras.ops.ones((2, 5, 64))).shape
    TensorShape([2, 5, 64])

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.1.
    """

    def __init__(
        self,
        num_heads: int | None = None,
        intermediate_dim: int | None = None,
        dropout: float = 0.1,
        attention: SelfAttention | dict[str, Any] | None = None,
        feed_forward: keras.layers.Layer | dict[str, Any] | None = None,
        normalize_first: bool = False,
        norms: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_rate("dropout", dropout)
        heads = _one_of("num_heads", num_heads, "attention", attention)
        size = _one_of(
            "intermediate_dim", intermediate_dim, "feed_forward", feed_forward
        )
        options = {"dtype": self.dtype_policy}
        norms = self._norms(norms, normalize_first)
        self.attention_input_norm = norms.get("attention_input_norm")
        self.attention: SelfAttention = (
            SelfAttention(heads, dropout=dropout, name="attention", **options)
            if attention is None
            else part_of(attention, SelfAttention, "attention")
        )
        self.attention_norm = norms.get("attention_norm")
        self.feed_forward_input_norm = norms.get("feed_forward_input_norm")
        self.feed_forward: Any = (
            FeedForward(size, name="feed_forward", **options)
            if feed_forward is None
            else part_of(feed_forward, keras.layers.Layer, "feed_forward")
        )
        self.output_norm = norms.get("output_norm")
        self.dropout = Dropout(dropout, name="dropout", **options)

    def _norms(self, norms: Any, normalize_first: bool) -> dict[str, Any]:
        check_bool("normalize_first", normalize_first)
        if norms is None:
            norms = dict.fromkeys(PRE_NORMS if normalize_first else POST_NORMS, True)
        elif normalize_first:
            raise ValueError("`normalize_first` must be False with `norms`.")
        if not isinstance(norms, dict) or not set(norms) <= set(NORM_SLOTS):
            raise ValueError(
                "`norms` must be a dictionary of layers with names among "
                f"{NORM_SLOTS}. Received: {norms!r}"
            )
        return {
            name: norm_of(norm, name, self.dtype_policy) for name, norm in norms.items()
        }

    # No property: Keras would store weights under its name.
    def _parts(self) -> list[keras.layers.Layer]:
        """Returns the layers that the block consists of."""
        layers = (
            self.attention_input_norm,
            self.attention,
            self.attention_norm,
            self.feed_forward_input_norm,
            self.feed_forward,
            self.output_norm,
            self.dropout,
        )
        return [layer for layer in layers if layer is not None]

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None, **_):
        for layer in self._parts():
            if not layer.built:  # they may be those of another block
                layer.build(x_shape)

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        biases=None,
        return_weights=False,
        layout=None,
        relative_embeddings=None,
        training=None,
    ):
        options: dict[str, Any] = {}
        if relative_embeddings is not None:
            options["relative_embeddings"] = relative_embeddings
        mask = padding_mask_of(x, padding_mask) if layout is None else None
        normalized = x
        if self.attention_input_norm is not None:
            normalized = self.attention_input_norm(x)
        attended = self.attention(
            normalized,
            padding_mask=mask,
            sequence_ids=sequence_ids,
            biases=biases,
            return_weights=return_weights,
            layout=layout,
            training=training,
            **options,
        )
        attended, weights = attended if return_weights else (attended, None)
        y = x + self.dropout(attended, training=training)
        y = y if self.attention_norm is None else self.attention_norm(y)
        fed = y
        if self.feed_forward_input_norm is not None:
            fed = self.feed_forward_input_norm(y)
        fed = self.feed_forward(fed)
        if fed.shape[-1] != x.shape[-1]:
            raise ValueError(
                "`feed_forward` must return as many columns as `x` has. Received: "
                f"{fed.shape[-1]}, and `x` of shape {tuple(x.shape)}"
            )
        output = y + self.dropout(fed, training=training)
        output = output if self.output_norm is None else self.output_norm(output)
        outputs = (output, weights) if return_weights else output
        return with_mask(outputs, mask)

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
        shared = {x: arguments.pop(x) for x in SHARED_ARGUMENTS if x in arguments}

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

    def compute_output_shape(self, x_shape, *_, **__):
        return x_shape

    def compute_mask(self, x, previous_mask):
        """Returns `None`: `call` sets the mask, which `padding_mask` determines."""
        return None

    def get_config(self) -> dict[str, Any]:
        norms = {name: getattr(self, name) for name in NORM_SLOTS}
        return {
            **super().get_config(),
            "dropout": self.dropout.rate,
            "attention": config_of_part(self.attention),
            "feed_forward": config_of_part(self.feed_forward),
            "norms": {
                name: config_of_part(norm)
                for name, norm in norms.items()
                if norm is not None
            },
        }


def _one_of(size: str, number: Any, part: str, layer: Any) -> Any:
    """Returns a size, after a check that it or the part that has it is given."""
    if (number is None) == (layer is None):
        raise ValueError(
            f"`{size}` or `{part}` must be given, and not both. "
            f"Received: {size}={number!r}, {part}={layer!r}"
        )
    return number
