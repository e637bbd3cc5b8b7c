"""Self-attention by content and by relative position, apart."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import check_choice, check_positive, check_rate
from keras_bert_lite.layers.attention import PaddedRows, SelfAttention
from keras_bert_lite.layers.relative_positions import (
    falling_distances,
    scores_by_distance,
    table_rows,
)

RELATIVE_TERMS = ("c2p", "p2c")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class DisentangledAttention(SelfAttention):
    """Self-attention that also scores how far a key is from a query (DeBERTa).

    The score of query i and key j, in each head, is

    `(Qi . Kj + Qi . PK[d] + PQ[d] . Kj) / sqrt(D * (1 + terms))`, `d = i - j`:

    content to content, `"c2p"` and `"p2c"`. PK and PQ are projections of a table
    of relative embeddings, which has a row for each distance, or for each bucket
    of distances. Only rows that a batch has distances for are projected.

    Args:
        num_heads, hidden_dim, dropout, initializer_range: See `SelfAttention`.
        max_relative_positions: Distances from which on all are as one (M).
        position_buckets: Buckets in each direction (k), of which those of
            distances over `k / 2` grow logarithmically; None if every distance
            is its own.
        relative_terms: Which of `"c2p"` and `"p2c"` there are.
        share_position_projections: Whether PK and PQ are by the projections of
            the content, `key` and `query`, rather than `position_key` and
            `position_query` (each there if its term is).
        position_dropout: Rate of dropout on the relative embeddings.

    Call arguments:
        x, padding_mask, sequence_ids, return_weights, rows: See `SelfAttention`.
        relative_embeddings: Floats of shape `(2 * span, H)`, row `span` for
            distance 0; the span is k or, without buckets, M. Not needed without
            terms.

    Output shape:
        `(B, S, H)`; with `return_weights`, also `(B, N, S, S)`.

    Raises:
        ValueError: If an argument is out of its range, or `x` or
            `relative_embeddings` has another shape.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3;
    [the buckets of version 3](https://arxiv.org/abs/2111.09543).
    """

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        max_relative_positions: int,
        position_buckets: int | None = None,
        relative_terms: Sequence[str] = RELATIVE_TERMS,
        share_position_projections: bool = False,
        dropout: float = 0.1,
        position_dropout: float = 0.1,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_heads, hidden_dim, dropout, initializer_range, **kwargs)
        check_positive("max_relative_positions", max_relative_positions)
        _check_buckets(position_buckets, max_relative_positions)
        for term in relative_terms:
            check_choice("relative_terms", term, RELATIVE_TERMS)
        check_rate("position_dropout", position_dropout)
        self.max_relative_positions = max_relative_positions
        self.position_buckets = position_buckets
        self.relative_terms = [x for x in RELATIVE_TERMS if x in relative_terms]
        self.share_position_projections = share_position_projections
        self.position_dropout_rate = position_dropout
        own = [] if share_position_projections else self.relative_terms
        self.position_key = self._dense("position_key") if "c2p" in own else None
        self.position_query = self._dense("position_query") if "p2c" in own else None
        self.position_dropout = keras.layers.Dropout(
            position_dropout, dtype=self.dtype_policy, name="position_dropout"
        )

    @property
    def table_shape(self) -> tuple[int, int]:
        """The shape of the relative embeddings: (2 * span, H)."""
        span = self.position_buckets or self.max_relative_positions
        return 2 * span, self.hidden_dim

    def build(
        self,
        x_shape,
        padding_mask_shape=None,
        sequence_ids_shape=None,
        relative_embeddings_shape=None,
    ):
        self._check_table(relative_embeddings_shape)
        super().build(x_shape)
        for dense in (self.position_key, self.position_query):
            if dense is not None:
                dense.build(self.table_shape)
        self.position_dropout.build(self.table_shape)

    def _check_table(self, shape) -> None:
        if shape is None:
            return
        pairs = zip(shape, self.table_shape, strict=False)
        if len(shape) != 2 or any(size not in (None, want) for size, want in pairs):
            raise ValueError(
                f"`relative_embeddings` must have the shape {self.table_shape}. "
                f"Received: {tuple(shape)}"
            )

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        training=None,
        relative_embeddings=None,
    ):
        if self.relative_terms and relative_embeddings is None:
            raise ValueError("`relative_embeddings` must be given. Received: None")
        rows = rows or PaddedRows(self.num_heads, padding_mask, sequence_ids)
        scores_of = functools.partial(
            self._scores, relative_embeddings=relative_embeddings, training=training
        )
        return self._attend(x, rows, scores_of, return_weights, training)

    def _scores(
        self, queries, keys, relative_embeddings=None, training=None
    ) -> Iterator[Any]:
        size = self.hidden_dim // self.num_heads
        scale = (size * (1 + len(self.relative_terms))) ** -0.5
        lengths = [ops.shape(query)[2] for query in queries]
        longest = functools.reduce(ops.maximum, lengths)
        tables = self._project(relative_embeddings, longest, training)
        for query, key, length in zip(queries, keys, lengths, strict=True):
            query = query * scale
            scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
            scores = ops.cast(scores, "float32")
            near = slice(longest - length, longest + length)
            if "c2p" in tables:
                scores = scores + scores_by_distance(query, tables["c2p"][near])
            if "p2c" in tables:
                table = tables["p2c"][near] * scale
                turned = scores_by_distance(key, table)  # keys by queries
                scores = scores + ops.transpose(turned, (0, 1, 3, 2))
            yield scores

    def _project(self, relative_embeddings, length, training) -> dict[str, Any]:
        """PK of the distances to keys, PQ of those to queries: (2S, H) each."""
        if not self.relative_terms:
            return {}
        layout = self.max_relative_positions, self.position_buckets
        distances = falling_distances(length)
        to_keys, to_queries = (table_rows(x, *layout) for x in (distances, -distances))
        first, last = to_keys[-1], to_queries[-1]  # of distances -S and S
        needed = relative_embeddings[first : last + 1]
        needed = self.position_dropout(needed, training=training)
        dense_and_rows = {
            "c2p": (self.position_key or self.key, to_keys),
            "p2c": (self.position_query or self.query, to_queries),
        }
        return {
            term: ops.take(dense(needed), rows - first, axis=0)
            for term, (dense, rows) in dense_and_rows.items()
            if term in self.relative_terms
        }

    def compute_output_spec(self, x, *args, relative_embeddings=None, **kwargs):
        return super().compute_output_spec(x, *args, **kwargs)

    def compute_output_shape(
        self,
        x_shape,
        padding_mask_shape=None,
        sequence_ids_shape=None,
        relative_embeddings_shape=None,
    ):
        return x_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "max_relative_positions": self.max_relative_positions,
            "position_buckets": self.position_buckets,
            "relative_terms": self.relative_terms,
            "share_position_projections": self.share_position_projections,
            "position_dropout": self.position_dropout_rate,
        }


def _check_buckets(buckets: int | None, max_relative_positions: int) -> None:
    if buckets is None:
        return
    check_positive("position_buckets", buckets)
    if buckets < 2 or max_relative_positions <= buckets // 2 + 1:
        raise ValueError(
            "`position_buckets` must be at least 2, and half of it less than "
            "`max_relative_positions` - 1. Received: "
            f"position_buckets={buckets}, "
            f"max_relative_positions={max_relative_positions}"
        )
