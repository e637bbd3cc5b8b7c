"""DeBERTa's disentangled self-attention."""

import functools
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.attention.relative_positions import (
    falling_distances,
    scores_by_distance,
    table_rows,
)
from keras_bert_lite.layers.attention.self_attention import SelfAttention


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class DisentangledAttention(SelfAttention):
    """Self-attention with separate scores for relative positions (DeBERTa).

    The score of query i and key j, in each head, is

    `(Qi . Kj + Qi . PK[d] + PQ[d] . Kj) / sqrt(D * (1 + terms))`, `d = i - j`:

    the terms content to content, `"c2p"` and `"p2c"`. PK and PQ are projections of the
    relative embeddings, one for each distance or bucket of distances. Only the
    embeddings of distances that occur in the batch are projected.

    Args:
        config, layer: See `SelfAttention`. The configuration must have
            `relative_positions`; its `dropout` also applies to the relative
            embeddings.

    Call arguments:
        x, padding_mask, sequence_ids, return_weights, rows, relative_biases:
            See `SelfAttention`.
        relative_embeddings: The output of `RelativeTable`: floats of shape
            `(2 * span, H)`, with distance 0 in row `span`; see
            `RelativePositions`. Not needed without terms.

    Output shape:
        `(B, S, H)`; with `return_weights`, also `(B, N, S, S)`.

    Raises:
        ValueError: If there are no `relative_positions`, or `x` or
            `relative_embeddings` has another shape.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3;
    [the buckets of version 3](https://arxiv.org/abs/2111.09543).
    """

    def __init__(
        self, config: EncoderConfig | dict[str, Any], layer: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(config, layer, **kwargs)
        relative = self.config.relative_positions
        if relative is None:
            raise ValueError("`config` must have `relative_positions`. Received: None")
        self.relative_positions = relative
        width, biases = self.config.hidden_dim, self.config.biases
        own = () if relative.share_projections else relative.terms
        self.position_key: keras.layers.Dense | None = None
        self.position_query: keras.layers.Dense | None = None
        if "c2p" in own:
            self.position_key = self._dense(width, "position_key", biases.key)
        if "p2c" in own:
            self.position_query = self._dense(width, "position_query", biases.query)
        self.position_dropout = self._dropout(self.config.dropout, "position_dropout")

    @property
    def table_shape(self) -> tuple[int, int]:
        """The shape of the relative embeddings: (2 * span, H)."""
        return 2 * self.relative_positions.span, self.config.hidden_dim

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
        relative_biases=None,
        training=None,
        relative_embeddings=None,
    ):
        if self.relative_positions.terms and relative_embeddings is None:
            raise ValueError("`relative_embeddings` must be given. Received: None")
        rows = rows or self._padded(x, padding_mask, sequence_ids, return_weights)
        scores_of = functools.partial(
            self._scores,
            lengths=rows.lengths,
            relative_embeddings=relative_embeddings,
            training=training,
        )
        return self._attend(
            x, rows, scores_of, relative_biases, return_weights, training
        )

    def _scores(
        self, queries, keys, lengths=(), relative_embeddings=None, training=None
    ) -> Iterator[Any]:
        size = self.config.hidden_dim // self.config.num_heads
        scale = (size * (1 + len(self.relative_positions.terms))) ** -0.5
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
        """Returns PK and PQ of the distances in a batch, `(2 S, H)` each, by term."""
        relative = self.relative_positions
        if not relative.terms:
            return {}
        rows_of = functools.partial(
            table_rows, max_distance=relative.max_distance, num_buckets=relative.buckets
        )
        # Distances range from -S to S. Without any tokens, only 0 remains.
        ends = rows_of(length * np.array([-1, 1], "int32"))
        first = ends[0]
        needed = relative_embeddings[first : ends[1] + 1]
        needed = self.position_dropout(needed, training=training)
        distances = falling_distances(length)
        dense_and_rows = {
            "c2p": (self.position_key or self.key, rows_of(distances)),
            "p2c": (self.position_query or self.query, rows_of(-distances)),
        }
        return {
            term: ops.take(dense(needed), rows - first, axis=0)
            for term, (dense, rows) in dense_and_rows.items()
            if term in relative.terms
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
