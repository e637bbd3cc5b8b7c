"""Token, segment and position embeddings."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite._private import stored_value
from keras_bert_lite.checks import check_not_negative, check_positive
from keras_bert_lite.layer_config import config_of_part
from keras_bert_lite.layers.base import EncoderPart, check_rows, norm_of


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Embeddings(EncoderPart):
    """The sum of token, segment and position embeddings, normalized.

    `LayerNorm(token[token_ids] + segment[segment_ids] + position[position_ids])`,
    plus `task[0]` in the sum with task types (ERNIE). Dropout follows. Families without
    segments or positions omit those tables.

    Args:
        vocabulary_size: Number of token embeddings (V).
        hidden_dim: Width of the output (H).
        max_sequence_length: Number of positions; `None` for no position embeddings.
        position_offset: Index of the first position embedding. If it is not 0, padding
            has the id `position_offset - 1` and is not counted in positions (RoBERTa).
        num_segments: Number of segment embeddings; 0 for none.
        num_task_types: Number of task-type embeddings; 0 for none. All inputs have
            type 0.
        embedding_dim: Width of the embeddings (E), which a dense layer without bias
            projects to `hidden_dim` before the normalization (DeBERTa). `None`: they
            are as wide as the output.
        layer_norm: Whether the sum is normalized, or a normalization layer.
        dropout: Dropout rate of the output.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        token_ids: Integers of shape `(B, S)`.
        segment_ids: Integers of shape `(B, S)`; all 0 if absent.
        position_ids: Integers of shape `(B, S)` or `(S,)`; 0 to S - 1 if absent. They
            restart in packed sequences.
        return_table: Whether to return the token embeddings too, `(V, E)`, for a head
            that shares them; see `VocabularyScores`.

    Output shape:
        `(B, S, H)`; with `return_table`, also `(V, E)`.

    Raises:
        ValueError: If the sequence is longer than the position table, or the ids are
            not integers of rank 2.

    Example:

    >>> layer = Embeddings(vocabulary_size=30522, hidden_dim=64)
    >>> layer(keras.ops.ones((2, 5), "int32")).shape
    TensorShape([2, 5, 64])

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 3.
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int,
        max_sequence_length: int | None = 512,
        position_offset: int = 0,
        num_segments: int = 2,
        num_task_types: int = 0,
        embedding_dim: int | None = None,
        layer_norm: keras.layers.Layer | dict[str, Any] | bool = True,
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("vocabulary_size", vocabulary_size)
        check_positive("hidden_dim", hidden_dim)
        for name, size in {
            "max_sequence_length": max_sequence_length,
            "embedding_dim": embedding_dim,
        }.items():
            if size is not None:
                check_positive(name, size)
        for name, count in {
            "position_offset": position_offset,
            "num_segments": num_segments,
            "num_task_types": num_task_types,
        }.items():
            check_not_negative(name, count)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.max_sequence_length = max_sequence_length
        self.position_offset = position_offset
        self.num_segments = num_segments
        self.num_task_types = num_task_types
        self.embedding_dim = embedding_dim
        positions = 0
        if max_sequence_length is not None:
            positions = max_sequence_length + position_offset
        self.token_embedding: Any = self._embedding("token", vocabulary_size)
        self.segment_embedding = self._embedding("segment", num_segments)
        self.position_embedding = self._embedding("position", positions)
        self.task_embedding = self._embedding("task", num_task_types)
        self.projection: keras.layers.Dense | None = None
        if embedding_dim is not None:
            self.projection = self._dense(hidden_dim, "projection", use_bias=False)
        self.layer_norm = norm_of(layer_norm, "layer_norm", self.dtype_policy)
        self.dropout = self._dropout(dropout)

    @property
    def width(self) -> int:
        """The width of the embeddings (E)."""
        return self.embedding_dim or self.hidden_dim

    def _embedding(self, name: str, rows: int) -> keras.layers.Embedding | None:
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
        for layer in (self.layer_norm, self.dropout):
            if layer is not None:
                layer.build((*token_ids_shape, self.hidden_dim))

    def call(
        self,
        token_ids,
        segment_ids=None,
        position_ids=None,
        return_table=False,
        training=None,
    ):
        self._check(token_ids, segment_ids, position_ids)
        vectors = self.token_vectors(token_ids)
        x = self.finish(vectors, token_ids, segment_ids, position_ids, training)
        return (x, self.table()) if return_table else x

    def table(self):
        """Returns the token embeddings, `(V, E)`, in the type that they are stored in.

        So it costs nothing where no head reads it.
        """
        table = self.token_embedding
        if table.quantization_mode is None and not table.lora_enabled:
            return stored_value(table.embeddings)
        return table(ops.arange(self.vocabulary_size, dtype="int32"))

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

    def finish(self, x, token_ids, segment_ids, position_ids, training=None):
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
        if self.projection is not None:
            x = self.projection(x)
        if self.layer_norm is not None:
            x = self.layer_norm(x)
        return self.dropout(x, training=training)

    def _position_rows(self, token_ids, position_ids):
        """Returns rows of the position embeddings, `(B, S)` or `(S,)`."""
        if position_ids is not None:
            return position_ids + self.position_offset
        if not self.position_offset:
            # If the sequence is too long, the shapes do not match on any device.
            positions = ops.arange(self.max_sequence_length, dtype="int32")
            return positions[: ops.shape(token_ids)[1]]
        padding_id = self.position_offset - 1
        real = ops.cast(ops.not_equal(token_ids, padding_id), "int32")
        return ops.cumsum(real, axis=1) * real + padding_id

    def _check(self, token_ids, segment_ids, position_ids) -> None:
        dtype = keras.backend.standardize_dtype(token_ids.dtype)
        if len(token_ids.shape) != 2 or "int" not in dtype:
            raise ValueError(
                "`token_ids` must be integers of shape (batch, sequence). "
                f"Received: shape {tuple(token_ids.shape)}, dtype {dtype}"
            )
        check_rows(token_ids, "token_ids", segment_ids=segment_ids)
        if position_ids is not None and len(position_ids.shape) != 1:
            check_rows(token_ids, "token_ids", position_ids=position_ids)
        length = token_ids.shape[1]
        limit = self.max_sequence_length
        if isinstance(length, int) and limit is not None and length > limit:
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
        return_table=False,
        training=None,
    ):
        self._check(token_ids, segment_ids, position_ids)
        shape = (*token_ids.shape, self.hidden_dim)
        output = keras.KerasTensor(shape, dtype=self.compute_dtype)
        if not return_table:
            return output
        table = (self.vocabulary_size, self.width)
        return output, keras.KerasTensor(table, dtype=self.variable_dtype)

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
            "position_offset": self.position_offset,
            "num_segments": self.num_segments,
            "num_task_types": self.num_task_types,
            "embedding_dim": self.embedding_dim,
            "layer_norm": config_of_part(self.layer_norm),
            "dropout": self.dropout.rate,
        }


def _split(table: keras.layers.Embedding, x) -> Any:
    """Returns how rows are split over devices that exchange the table's gradient."""
    if not _exchanges_gradient(table):
        return None
    from keras_bert_lite.layers import tied_table

    return tied_table.split_rows(table.embeddings, x.shape[0])


def _exchanges_gradient(table: keras.layers.Embedding) -> bool:
    """Whether devices may exchange the gradient of a table; see `tied_table`."""
    if keras.backend.backend() != "jax" or keras.distribution.distribution() is None:
        return False
    return table.quantization_mode is None and not table.lora_enabled


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
