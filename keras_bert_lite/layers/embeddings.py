"""Token, segment and position embeddings."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite._private import stored_value
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.base import EncoderPart


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Embeddings(EncoderPart):
    """The sum of token, segment and position embeddings, normalized.

    `LayerNorm(token[token_ids] + segment[segment_ids] + position[position_ids])`,
    plus `task[0]` in the sum with task types (ERNIE). Dropout follows and, with an
    `embedding_dim`, a projection to `hidden_dim`. Families without segments or
    positions leave out their embeddings.

    `reverse=True` scores vectors against the token embeddings, `x token^T`, like the
    tied head of a language model. `project=False` leaves out the projection, for an
    encoder that shares the embeddings and has its own (ELECTRA's generator).

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary. It
            uses `vocabulary_size`, `hidden_dim`, `embedding_dim`,
            `project_before_norm`, `max_sequence_length`, `position_offset`,
            `num_segments`, `num_task_types`, `dropout`, `layer_norm_epsilon`,
            `norms` and `initializer_range`. If `position_offset` is not 0,
            padding has the id `position_offset - 1` and is not counted in positions
            (as in RoBERTa).

    Call arguments:
        token_ids: Integers of shape `(B, S)`.
        segment_ids: Integers of shape `(B, S)`; all 0 if absent.
        position_ids: Integers of shape `(B, S)` or `(S,)`; 0 to S - 1 if absent. They
            restart in packed sequences.
        reverse: Whether to score vectors, `(B, S, embedding_dim)`, which are given
            instead of `token_ids`.
        project: Whether to apply the projection after the normalization, if there is
            one.
        vectors: Floats of shape `(B, S, E)`, E the width of the embeddings, that
            enter the sum in place of the token embeddings of `token_ids`.

    Output shape:
        `(B, S, H)`; with `reverse`, `(B, S, vocabulary_size)`; without `project`,
        `(B, S, embedding_dim)`.

    Raises:
        ValueError: If the sequence is longer than the position table, the
            ids are not integers of rank 2, or the vectors not of width E.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 3;
    factorization: [Lan et al., 2020](https://arxiv.org/abs/1909.11942); tied head:
    [Press and Wolf, 2017](https://arxiv.org/abs/1608.05859).
    """

    def __init__(self, config: EncoderConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        config = self.config
        self.token_embedding: Any = self._embedding(config.vocabulary_size, "token")
        self.segment_embedding = self._embedding(config.num_segments, "segment")
        self.position_embedding = self._embedding(config.num_positions, "position")
        self.task_embedding = self._embedding(config.num_task_types, "task")
        self.layer_norm: keras.layers.Layer | None = None
        if config.norms.embeddings:
            self.layer_norm = self._layer_norm("layer_norm")
        self.dropout = self._dropout(config.dropout)
        self.projection: keras.layers.Dense | None = None
        if config.embedding_dim is not None:
            bias = not config.project_before_norm
            self.projection = self._dense(config.hidden_dim, "projection", bias)

    @property
    def width(self) -> int:
        """The width of the embeddings (E)."""
        return self.config.embedding_dim or self.config.hidden_dim

    def _embedding(self, rows: int, name: str) -> keras.layers.Embedding | None:
        return self._table(rows, self.width, f"{name}_embedding") if rows else None

    def build(self, token_ids_shape, segment_ids_shape=None, position_ids_shape=None):
        if len(token_ids_shape) != 2:
            raise ValueError(
                "`token_ids` must be integers of shape (batch, sequence). "
                f"Received: shape {tuple(token_ids_shape)}"
            )
        for table in (self.token_embedding, self.segment_embedding):
            if table is not None:
                table.build(token_ids_shape)
        if self.position_embedding is not None:
            self.position_embedding.build((token_ids_shape[1],))
        if self.task_embedding is not None:
            self.task_embedding.build((1,))
        if self.projection is not None:
            self.projection.build((*token_ids_shape, self.width))
        projected = self.config.project_before_norm and self.projection is not None
        width = self.config.hidden_dim if projected else self.width
        if self.layer_norm is not None:
            self.layer_norm.build((*token_ids_shape, width))
        self.dropout.build((*token_ids_shape, width))

    def call(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        reverse=False,
        project=True,
        vectors=None,
        training=None,
    ):
        if reverse:
            return self._scores(token_ids)
        self._check(token_ids)
        if vectors is None:
            vectors = self.token_vectors(token_ids)
        elif len(vectors.shape) != 3 or vectors.shape[-1] != self.width:
            raise ValueError(
                f"`vectors` must have the shape (batch, sequence, {self.width}). "
                f"Received: {tuple(vectors.shape)}"
            )
        others = (token_ids, segment_ids, position_ids)
        return self.finish(vectors, *others, project, training)

    def token_vectors(self, token_ids):
        """Looks up only the token embeddings: (B, S) -> (B, S, E)."""
        table = self.token_embedding
        if split := _split(table, token_ids):
            from keras_bert_lite.layers import tied_table

            ids, size = _in_range(table, token_ids), table.input_dim
            values = stored_value(table.embeddings)
            rows = tied_table.look_up(split, size, values, ids)
            return ops.cast(rows, self.compute_dtype)
        return _look_up(table, token_ids)

    def finish(
        self, x, token_ids, segment_ids, position_ids, project=True, training=None
    ):
        """Completes the embeddings of looked-up tokens: (B, S, E) -> (B, S, H)."""
        if self.segment_embedding is not None:
            if segment_ids is None:
                segment_ids = ops.zeros_like(token_ids)
            x = x + _look_up_few(self.segment_embedding, segment_ids)
        if self.position_embedding is not None:
            rows = self._position_rows(token_ids, position_ids)
            x = x + _look_up(self.position_embedding, rows)
        if self.task_embedding is not None:
            x = x + self.task_embedding(ops.zeros((1,), dtype="int32"))
        first = self.config.project_before_norm
        if self.projection is not None and first:
            x = self.projection(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        x = self.dropout(x, training=training)
        if self.projection is not None and not first and project:
            x = self.projection(x)
        return x

    def _position_rows(self, token_ids, position_ids):
        """Returns rows of the position embeddings, `(B, S)` or `(S,)`."""
        if position_ids is not None:
            return position_ids + self.config.position_offset
        if not self.config.position_offset:
            # If the sequence is too long, the shapes do not match on any device.
            positions = ops.arange(self.config.max_sequence_length, dtype="int32")
            return positions[: ops.shape(token_ids)[1]]
        padding_id = self.config.position_offset - 1
        real = ops.cast(ops.not_equal(token_ids, padding_id), "int32")
        return ops.cumsum(real, axis=1) * real + padding_id

    def _scores(self, x):
        """(B, S, E) -> (B, S, V)."""
        if split := _split(self.token_embedding, x):
            from keras_bert_lite.layers import tied_table

            values = stored_value(self.token_embedding.embeddings)
            return tied_table.scores(split, x, values)
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
        limit = self.config.num_positions - self.config.position_offset
        has_table = self.position_embedding is not None
        if isinstance(length, int) and has_table and length > limit:
            raise ValueError(
                "The sequence is longer than the position table. Received: "
                f"`token_ids` of length {length}, expected at most "
                f"max_sequence_length={limit}"
            )

    def compute_output_spec(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        reverse=False,
        project=True,
        vectors=None,
        training=None,
    ):
        if reverse:
            shape = (*token_ids.shape[:-1], self.config.vocabulary_size)
        else:
            self._check(token_ids)
            first = self.config.project_before_norm
            width = self.config.hidden_dim if project or first else self.width
            shape = (*token_ids.shape, width)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(
        self, token_ids_shape, segment_ids_shape=None, position_ids_shape=None
    ):
        return (*token_ids_shape, self.config.hidden_dim)


def _split(table: keras.layers.Embedding, x) -> Any:
    """Returns how rows are split over devices that exchange the table's gradient."""
    if keras.backend.backend() != "jax":
        return None
    if table.quantization_mode is not None or table.lora_enabled:
        return None
    from keras_bert_lite.layers import tied_table

    return tied_table.split_rows(table.embeddings, x.shape[0])


def _look_up(table: keras.layers.Embedding, ids):
    return table(_in_range(table, ids))


def _in_range(table: keras.layers.Embedding, ids):
    """Puts negative ids out of range: they are not counted from the end."""
    return ops.where(ids < 0, table.input_dim, ids)


def _look_up_few(table: keras.layers.Embedding, ids):
    """Looks up ids in a table of a few rows.

    Under JAX the rows are selected by comparison: on TPUs that is cheaper than a
    gather, and its gradient is a sum, not a scatter.
    """
    if keras.backend.backend() != "jax" or table.input_dim > 4:
        return _look_up(table, ids)
    rows = ops.cast(table(ops.arange(table.input_dim, dtype="int32")), "float32")
    selected: Any = float("nan")  # ids outside the table
    for i in range(table.input_dim):
        selected = ops.where(ops.equal(ids, i)[..., None], rows[i], selected)
    return ops.cast(selected, table.compute_dtype)
