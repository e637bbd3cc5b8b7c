"""Token, segment and position embeddings."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import check_positive, check_rate
from keras_bert_lite.layers.base import CompositeLayer, initializer
from keras_bert_lite.layers.normalization import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Embeddings(CompositeLayer):
    """Turns ids into vectors: token + segment + position, normalized.

    `LayerNorm(token[token_ids] + segment[segment_ids] + position[position_ids])`,
    then dropout, then, where `embedding_dim` is not `hidden_dim`, a projection
    to `hidden_dim`.

    Args:
        vocabulary_size: Rows of the token table.
        hidden_dim: Width of the output (H).
        max_sequence_length: Rows of the position table.
        num_segments: Rows of the segment table.
        embedding_dim: Width of the tables; `None` means `hidden_dim`.
        dropout: Rate of dropout after the normalization.
        layer_norm_epsilon: Added to the variance in the normalization.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        token_ids: Integers of shape `(B, S)`.
        segment_ids: Integers of shape `(B, S)`; all 0 if absent.
        position_ids: Integers of shape `(B, S)` or `(S,)`; 0 to S - 1 if
            absent. Packed sequences restart them.

    Output shape:
        `(B, S, H)`.

    Raises:
        ValueError: If the sequence is longer than the position table, or the
            ids are not integers of rank 2.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 3;
    the factorization is that of
    [Lan et al., 2020](https://arxiv.org/abs/1909.11942).
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        max_sequence_length: int = 512,
        num_segments: int = 2,
        embedding_dim: int | None = None,
        dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("vocabulary_size", vocabulary_size)
        check_positive("hidden_dim", hidden_dim)
        check_positive("max_sequence_length", max_sequence_length)
        check_positive("num_segments", num_segments)
        if embedding_dim is not None:
            check_positive("embedding_dim", embedding_dim)
        check_rate("dropout", dropout)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.embedding_dim = embedding_dim
        self.dropout_rate = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.token_embedding = self._table(vocabulary_size, "token_embedding")
        self.segment_embedding = self._table(num_segments, "segment_embedding")
        self.position_embedding = self._table(max_sequence_length, "position_embedding")
        self.layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, dtype=self.dtype_policy, name="layer_norm"
        )
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.projection = self._projection()

    def _table(self, rows: int, name: str) -> keras.layers.Embedding:
        return keras.layers.Embedding(
            rows,
            self.embedding_dim or self.hidden_dim,
            embeddings_initializer=initializer(self.initializer_range),
            dtype=self.dtype_policy,
            name=name,
        )

    def _projection(self) -> keras.layers.Dense | None:
        if self.embedding_dim in (None, self.hidden_dim):
            return None
        return keras.layers.Dense(
            self.hidden_dim,
            kernel_initializer=initializer(self.initializer_range),
            dtype=self.dtype_policy,
            name="projection",
        )

    def build(self, token_ids_shape, segment_ids_shape=None, position_ids_shape=None):
        if len(token_ids_shape) != 2:
            raise ValueError(
                "`token_ids` must be integers of shape (batch, sequence). "
                f"Received: shape {tuple(token_ids_shape)}"
            )
        width = self.embedding_dim or self.hidden_dim
        self.token_embedding.build(token_ids_shape)
        self.segment_embedding.build(token_ids_shape)
        self.position_embedding.build((token_ids_shape[1],))
        self.layer_norm.build((*token_ids_shape, width))
        self.dropout.build((*token_ids_shape, width))
        if self.projection is not None:
            self.projection.build((*token_ids_shape, width))

    def call(self, token_ids, segment_ids=None, position_ids=None, training=None):
        self._check(token_ids)
        if position_ids is None:
            # Too long a sequence does not fit the shape, on any device.
            position_ids = ops.arange(self.max_sequence_length, dtype="int32")
            position_ids = position_ids[: ops.shape(token_ids)[1]]
        if segment_ids is None:
            segment_ids = ops.zeros_like(token_ids)
        x = _look_up(self.token_embedding, token_ids)
        x = x + _look_up(self.segment_embedding, segment_ids)
        x = x + _look_up(self.position_embedding, position_ids)
        x = self.dropout(self.layer_norm(x), training=training)
        return x if self.projection is None else self.projection(x)

    def _check(self, token_ids) -> None:
        dtype = keras.backend.standardize_dtype(token_ids.dtype)
        if len(token_ids.shape) != 2 or "int" not in dtype:
            raise ValueError(
                "`token_ids` must be integers of shape (batch, sequence). "
                f"Received: shape {tuple(token_ids.shape)}, dtype {dtype}"
            )
        length = token_ids.shape[1]
        if isinstance(length, int) and length > self.max_sequence_length:
            raise ValueError(
                "The sequence is longer than the position table. Received: "
                f"`token_ids` of length {length}, expected at most "
                f"max_sequence_length={self.max_sequence_length}"
            )

    def compute_output_shape(
        self, token_ids_shape, segment_ids_shape=None, position_ids_shape=None
    ):
        return (*token_ids_shape, self.hidden_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
            "max_sequence_length": self.max_sequence_length,
            "num_segments": self.num_segments,
            "embedding_dim": self.embedding_dim,
            "dropout": self.dropout_rate,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }


def _look_up(table: keras.layers.Embedding, ids):
    """Looks ids up; a negative one is out of range, not counted from the end."""
    return table(ops.where(ids < 0, table.input_dim, ids))
