"""Bidirectional multi-head self-attention."""

from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import check_heads, check_positive, check_rate
from keras_bert_lite.layers.base import CompositeLayer, Initializer


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SelfAttention(CompositeLayer):
    """Lets every position attend to every real position.

    `softmax(Q K^T / sqrt(D)) V` in each of N heads of size D = H / N, where Q,
    K and V are dense projections of the input; the heads joined and projected
    once more. The softmax runs in float32.

    Args:
        num_heads: Number of heads (N); must divide `hidden_dim`.
        hidden_dim: Width of input and output (H).
        dropout: Rate of dropout on the attention weights.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions, which
            alone are attended to; all are real if absent.
        sequence_ids: Integers of shape `(B, S)`: positions attend only to
            positions with the same number (a block-diagonal mask, for several
            sequences packed in a row).
        return_weights: Whether to return the attention weights too.
        rows: Where the rows of the batch are, if not padded: a `RealTokens`,
            with `x` of shape `(T, H)`. The masks are then its own.

    Output shape:
        `(B, S, H)`; with `return_weights`, also the weights, `(B, N, S, S)`:
        for each query position (rows), one weight for each key position.

    Raises:
        ValueError: If `num_heads` does not divide `hidden_dim`, or `x` has
            another width or rank.

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.2.
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("num_heads", num_heads)
        check_positive("hidden_dim", hidden_dim)
        check_heads(hidden_dim, num_heads)
        check_rate("dropout", dropout)
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.dropout_rate = dropout
        self.initializer_range = initializer_range
        self.query = self._dense("query")
        self.key = self._dense("key")
        self.value = self._dense("value")
        self.output_dense = self._dense("output_dense")
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )

    def _dense(self, name: str) -> keras.layers.Dense:
        return keras.layers.Dense(
            self.hidden_dim,
            kernel_initializer=Initializer(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        if len(x_shape) != 3 or x_shape[-1] != self.hidden_dim:
            raise ValueError(
                "`x` must have the shape (batch, sequence, "
                f"{self.hidden_dim}). Received: {tuple(x_shape)}"
            )
        for dense in (self.query, self.key, self.value, self.output_dense):
            dense.build(x_shape)
        self.dropout.build((x_shape[0], self.num_heads, x_shape[1], x_shape[1]))

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        training=None,
    ):
        rows = rows or PaddedRows(self.num_heads, padding_mask, sequence_ids)
        return self._attend(x, rows, self._scores, return_weights, training)

    def _attend(self, x, rows, scores_of, return_weights, training):
        """Attends by the scores that `scores_of` gives queries and keys."""
        queries, keys, values = (
            rows.split_heads(dense(x)) for dense in (self.query, self.key, self.value)
        )
        attended, weights = [], None
        scores = scores_of(queries, keys)
        for group, value, bias in zip(scores, values, rows.biases, strict=True):
            weights = ops.cast(_masked_softmax(group, bias), value.dtype)
            dropped = self.dropout(weights, training=training)
            attended.append(ops.matmul(dropped, value))
        output = self.output_dense(rows.join_heads(attended, like=x))
        return (output, weights) if return_weights else output

    def _scores(self, queries, keys) -> Iterator[Any]:
        """The scaled scores of each group of rows: (B, N, S, S), float32."""
        scale = (self.hidden_dim // self.num_heads) ** -0.5
        for query, key in zip(queries, keys, strict=True):
            scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
            yield ops.cast(scores, "float32") * scale

    def compute_output_spec(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        training=None,
    ):
        output = keras.KerasTensor(x.shape, dtype=self.compute_dtype)
        if not return_weights:
            return output
        batch, length, _ = x.shape
        shape = (batch, self.num_heads, length, length)
        return output, keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(
        self, x_shape, padding_mask_shape=None, sequence_ids_shape=None
    ):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "hidden_dim": self.hidden_dim,
            "dropout": self.dropout_rate,
            "initializer_range": self.initializer_range,
        }


class PaddedRows:
    """The rows of a padded batch `(B, S)`, of which attention is one group.

    See `RealTokens` for the other way to lay out the same work.
    """

    def __init__(self, num_heads: int, padding_mask=None, sequence_ids=None) -> None:
        self.num_heads = num_heads
        self.biases = [_attention_bias(padding_mask, sequence_ids)]

    def split_heads(self, x) -> list[Any]:
        """(B, S, H) -> (B, N, S, D)."""
        length, hidden_dim = ops.shape(x)[1], x.shape[-1]
        shape = (-1, length, self.num_heads, hidden_dim // self.num_heads)
        return [ops.transpose(ops.reshape(x, shape), (0, 2, 1, 3))]

    def join_heads(self, x: list[Any], like):
        """(B, N, S, D) -> (B, S, H), the shape of `like`."""
        (heads,) = x
        return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), ops.shape(like))


def _masked_softmax(scores, bias):
    return ops.softmax(scores if bias is None else scores + bias, axis=-1)


def _attention_bias(padding_mask, sequence_ids):
    """What hides a key (last axis) from a query: (B, 1, 1 or S, S), or None.

    Hidden weights come out as exact zeros; a row without any real position
    comes out uniform, not NaN.
    """
    mask = None
    if padding_mask is not None:
        mask = ops.cast(padding_mask, "bool")[:, None, None, :]
    if sequence_ids is not None:
        same = sequence_ids[:, None, :, None] == sequence_ids[:, None, None, :]
        mask = same if mask is None else ops.logical_and(mask, same)
    return None if mask is None else ops.where(mask, 0.0, -1e30)
