"""Token, segment and position embeddings."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import check_not_negative, check_positive, check_rate
from keras_bert_lite.layers.base import CompositeLayer, Initializer
from keras_bert_lite.layers.normalization import LayerNorm


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Embeddings(CompositeLayer):
    """Turns ids into vectors: token + segment + position, normalized.

    `LayerNorm(token[token_ids] + segment[segment_ids] + position[position_ids])`,
    then dropout, then, if there is an `embedding_dim`, a projection to
    `hidden_dim`. Families without segments or positions leave those out.

    With `reverse=True`, vectors are scored against the token table:
    `x token^T`, as a language model's head does that is tied to it. With
    `project=False` the projection is left out: another encoder that shares the
    tables has its own (ELECTRA's generator).

    Args:
        vocabulary_size: Rows of the token table.
        hidden_dim: Width of the output (H).
        max_sequence_length: The most positions; `None` for no position table.
        num_segments: Rows of the segment table; 0 for none.
        embedding_dim: Width of the tables; `None` means `hidden_dim` and no
            projection.
        project_before_norm: Whether the projection comes before the
            normalization and without bias (as in DeBERTa).
        position_offset: Rows of the position table before the first
            position's. If not 0, padding is told by its id, `position_offset`
            - 1, and does not count as a position (as in RoBERTa).
        dropout: Rate of dropout after the normalization.
        layer_norm_epsilon: Added to the variance in the normalization.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        token_ids: Integers of shape `(B, S)`.
        segment_ids: Integers of shape `(B, S)`; all 0 if absent.
        position_ids: Integers of shape `(B, S)` or `(S,)`; 0 to S - 1 if
            absent. Packed sequences restart them.
        reverse: Whether to score vectors, `(B, S, embedding_dim)`, given in
            place of `token_ids`.
        project: Whether to project to `hidden_dim`, where there is a projection
            behind the normalization.

    Output shape:
        `(B, S, H)`; with `reverse`, `(B, S, vocabulary_size)`; without `project`,
        `(B, S, embedding_dim)`.

    Raises:
        ValueError: If the sequence is longer than the position table, or the
            ids are not integers of rank 2.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 3;
    the factorization is that of
    [Lan et al., 2020](https://arxiv.org/abs/1909.11942); the tied head that of
    [Press and Wolf, 2017](https://arxiv.org/abs/1608.05859).
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        max_sequence_length: int | None = 512,
        num_segments: int = 2,
        embedding_dim: int | None = None,
        project_before_norm: bool = False,
        position_offset: int = 0,
        dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_positive("vocabulary_size", vocabulary_size)
        check_positive("hidden_dim", hidden_dim)
        if max_sequence_length is not None:
            check_positive("max_sequence_length", max_sequence_length)
        if embedding_dim is not None:
            check_positive("embedding_dim", embedding_dim)
        check_not_negative("num_segments", num_segments)
        check_not_negative("position_offset", position_offset)
        check_rate("dropout", dropout)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.embedding_dim = embedding_dim
        self.project_before_norm = project_before_norm
        self.position_offset = position_offset
        self.dropout_rate = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        self.token_embedding = self._table(vocabulary_size, "token_embedding")
        self.segment_embedding = self._table(num_segments, "segment_embedding")
        rows = 0 if max_sequence_length is None else max_sequence_length
        rows += position_offset if rows else 0
        self.position_embedding = self._table(rows, "position_embedding")
        self.layer_norm = LayerNorm(
            epsilon=layer_norm_epsilon, dtype=self.dtype_policy, name="layer_norm"
        )
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.projection = self._projection()

    def _table(self, rows: int, name: str) -> Any:
        if not rows:
            return None
        return keras.layers.Embedding(
            rows,
            self.embedding_dim or self.hidden_dim,
            embeddings_initializer=Initializer(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name=name,
        )

    def _projection(self) -> keras.layers.Dense | None:
        if self.embedding_dim is None:
            return None
        return keras.layers.Dense(
            self.hidden_dim,
            use_bias=not self.project_before_norm,
            kernel_initializer=Initializer(stddev=self.initializer_range),
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
        for table in (self.token_embedding, self.segment_embedding):
            if table is not None:
                table.build(token_ids_shape)
        if self.position_embedding is not None:
            self.position_embedding.build((token_ids_shape[1],))
        if self.projection is not None:
            self.projection.build((*token_ids_shape, width))
        if self.project_before_norm:
            width = self.hidden_dim
        self.layer_norm.build((*token_ids_shape, width))
        self.dropout.build((*token_ids_shape, width))

    def call(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        reverse=False,
        project=True,
        training=None,
    ):
        if reverse:
            return self._scores(token_ids)
        self._check(token_ids)
        places = (token_ids, segment_ids, position_ids)
        return self.finish(self.token_vectors(token_ids), *places, project, training)

    def token_vectors(self, token_ids):
        """Rows of the token table alone: (B, S) -> (B, S, E)."""
        return _look_up(self.token_embedding, token_ids)

    def finish(
        self, x, token_ids, segment_ids, position_ids, project=True, training=None
    ):
        """What follows the look-up of tokens: (B, S, E) -> (B, S, H)."""
        if self.segment_embedding is not None:
            if segment_ids is None:
                segment_ids = ops.zeros_like(token_ids)
            x = x + _look_up(self.segment_embedding, segment_ids)
        if self.position_embedding is not None:
            rows = self._position_rows(token_ids, position_ids)
            x = x + _look_up(self.position_embedding, rows)
        if self.projection is not None and self.project_before_norm:
            x = self.projection(x)
        x = self.dropout(self.layer_norm(x), training=training)
        if self.projection is not None and not self.project_before_norm and project:
            x = self.projection(x)
        return x

    def _position_rows(self, token_ids, position_ids):
        """Rows of the position table, `(B, S)` or `(S,)`."""
        if position_ids is not None:
            return position_ids + self.position_offset
        if not self.position_offset:
            # Too long a sequence does not fit the shape, on any device.
            positions = ops.arange(self.max_sequence_length, dtype="int32")
            return positions[: ops.shape(token_ids)[1]]
        padding_id = self.position_offset - 1
        real = ops.cast(ops.not_equal(token_ids, padding_id), "int32")
        return ops.cumsum(real, axis=1) * real + padding_id

    def _scores(self, x):
        """(B, S, E) -> (B, S, V)."""
        table = ops.cast(self.token_embedding.embeddings, self.compute_dtype)
        return ops.matmul(x, ops.transpose(table))

    def _check(self, token_ids) -> None:
        dtype = keras.backend.standardize_dtype(token_ids.dtype)
        if len(token_ids.shape) != 2 or "int" not in dtype:
            raise ValueError(
                "`token_ids` must be integers of shape (batch, sequence). "
                f"Received: shape {tuple(token_ids.shape)}, dtype {dtype}"
            )
        length = token_ids.shape[1]
        limit = self.max_sequence_length
        if isinstance(length, int) and limit is not None and length > limit:
            raise ValueError(
                "The sequence is longer than the position table. Received: "
                f"`token_ids` of length {length}, expected at most "
                f"max_sequence_length={self.max_sequence_length}"
            )

    def compute_output_spec(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        reverse=False,
        project=True,
        training=None,
    ):
        if reverse:
            shape = (*token_ids.shape[:-1], self.vocabulary_size)
        else:
            self._check(token_ids)
            behind = self.projection is None or self.project_before_norm
            width = self.hidden_dim if project or behind else self.embedding_dim
            shape = (*token_ids.shape, width)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

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
            "project_before_norm": self.project_before_norm,
            "position_offset": self.position_offset,
            "dropout": self.dropout_rate,
            "layer_norm_epsilon": self.layer_norm_epsilon,
            "initializer_range": self.initializer_range,
        }


def _look_up(table: keras.layers.Embedding, ids):
    """Looks ids up; a negative one is out of range, not counted from the end."""
    return table(ops.where(ids < 0, table.input_dim, ids))
