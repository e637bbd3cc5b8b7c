"""DeBERTa's disentangled self-attention."""

import functools
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite.checks import check_bool, check_distances, check_terms
from keras_bert_lite.config import RELATIVE_TERMS
from keras_bert_lite.layers.attention.relative_positions import (
    falling_distances,
    scores_by_distance,
    table_rows,
)
from keras_bert_lite.layers.attention.self_attention import SelfAttention
from keras_bert_lite.layers.base import with_mask


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class DisentangledAttention(SelfAttention):
    """Self-attention with separate scores for relative positions (DeBERTa).

    The score of query i and key j, in each head, is

    `(Qi . Kj + Qi . PK[d] + PQ[d] . Kj) / sqrt(D * (1 + terms))`, `d = i - j`:

    the terms content to content, `"c2p"` and `"p2c"`. PK and PQ are projections of the
    relative embeddings, one for each distance or bucket of distances. Only the
    embeddings of distances that occur in the batch are projected.

    Args:
        num_heads: See `SelfAttention`.
        max_distance: The largest distance (M); larger ones are clipped to it.
        buckets: The number of buckets per direction (k). Distances up to `k / 2`
            have a vector each, and larger ones share vectors by the logarithm of
            the distance. `None`: every distance has its own vector.
        terms: The position terms of the scores: `"c2p"`, content to position, and
            `"p2c"`, position to content. One that is listed twice counts twice in the
            scale, as in the reference.
        share_projections: Whether positions use the projections of the content,
            `key` and `query`. Otherwise they have `position_key` and
            `position_query`, one for each term.
        position_dropout: Dropout rate of the relative embeddings.
        **kwargs: The other arguments of `SelfAttention`, without
            `num_key_value_heads` and `rotary`.

    Call arguments:
        x, padding_mask, sequence_ids, biases, return_weights, layout:
            See `SelfAttention`.
        relative_embeddings: The output of `RelativeTable`: floats of shape
            `(2 * span, H)`, with distance 0 in row `span`, which is `buckets` or,
            without buckets, `max_distance`. Not needed without terms.

    Output shape:
        `(B, S, H)`; with `return_weights`, also `(B, N, S, S)`.

    Raises:
        ValueError: If `x` or `relative_embeddings` has another shape, or the
            embeddings are missing.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3;
    [the buckets of version 3](https://arxiv.org/abs/2111.09543).
    """

    LAYERS: tuple[str, ...] = (
        *SelfAttention.LAYERS,
        "position_key",
        "position_query",
    )

    def __init__(
        self,
        num_heads: int,
        max_distance: int,
        buckets: int | None = None,
        terms: tuple[str, ...] | list[str] = RELATIVE_TERMS,
        share_projections: bool = True,
        position_dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_heads, **kwargs)
        for name, value in {
            "num_key_value_heads": self.num_key_value_heads != num_heads,
            "rotary": self.rotary is not None,
        }.items():
            if value:
                raise ValueError(
                    f"`{name}` must be None with relative positions. "
                    f"Received: {getattr(self, name)!r}"
                )
        check_distances(max_distance, buckets)
        check_terms(terms, RELATIVE_TERMS)
        check_bool("share_projections", share_projections)
        self.max_distance = max_distance
        self.buckets = buckets
        self.terms = list(terms)
        self.share_projections = share_projections
        self.position_dropout = self._dropout(position_dropout, "position_dropout")
        self.position_key: Any = None
        self.position_query: Any = None

    def build(
        self,
        x_shape,
        padding_mask_shape=None,
        sequence_ids_shape=None,
        relative_embeddings_shape=None,
        **_,
    ):
        super().build(x_shape)
        width = x_shape[-1]
        self.table_shape = 2 * self.span, width
        self._check_table(relative_embeddings_shape)
        own = [] if self.share_projections else self.terms
        for term, name in {"c2p": "key", "p2c": "query"}.items():
            if term in own:
                bias = name in self.use_bias
                self._add_dense(f"position_{name}", width, bias, self.table_shape)
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

    @property
    def span(self) -> int:
        """Half the number of relative embeddings."""
        return self.buckets or self.max_distance

    @property
    def scale(self) -> float:
        """1: `project` scales the queries, which all terms but one read."""
        return 1.0

    @property
    def has_relative_terms(self) -> bool:
        return True

    @property
    def reads_relative_table(self) -> bool:
        return bool(self.terms)

    @property
    def _all_scale(self) -> float:
        return (self.head_dim * (1 + len(self.terms))) ** -0.5

    def project(self, x) -> tuple[Any, Any, Any]:
        """Projects to scaled queries, keys and values, `(..., N, D)` each."""
        query, key, value = super().project(x)
        return query * self._all_scale, key, value

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        biases=None,
        return_weights=False,
        layout=None,
        training=None,
        relative_embeddings=None,
    ):
        if self.terms and relative_embeddings is None:
            raise ValueError("`relative_embeddings` must be given. Received: None")
        if relative_embeddings is not None:
            self._check_table(relative_embeddings.shape)
        alone = layout is None
        if alone:
            self._check_biases(x, biases)
            layout = self._own_layout(x, padding_mask, sequence_ids, whole=True)
            biases = None if biases is None else [biases]
        longest = functools.reduce(ops.maximum, layout.lengths)
        tables = self._tables(relative_embeddings, longest, training)
        terms = functools.partial(self._terms, tables=tables, longest=longest)
        outputs = self._attend(x, layout, biases, return_weights, training, terms)
        return with_mask(outputs, layout.mask) if alone else outputs

    def _terms(self, query, key, tables: dict[str, Any], longest) -> Iterator[Any]:
        """Yields the position terms of the scores, float32 `(b, N, s, s)`."""
        length = ops.shape(query)[2]
        near = slice(longest - length, longest + length)
        if "c2p" in tables:
            yield scores_by_distance(query, tables["c2p"][near])
        if "p2c" in tables:
            turned = scores_by_distance(key, tables["p2c"][near] * self._all_scale)
            yield ops.transpose(turned, (0, 1, 3, 2))  # from keys by queries

    def _tables(self, relative_embeddings, length, training) -> dict[str, Any]:
        """Returns PK and PQ of the distances in a batch, `(2 S, H)` each, by term."""
        if not self.terms:
            return {}
        rows_of = functools.partial(
            table_rows, max_distance=self.max_distance, num_buckets=self.buckets
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
            if term in self.terms
        }

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["num_key_value_heads"], config["rotary"]
        return {
            **config,
            "max_distance": self.max_distance,
            "buckets": self.buckets,
            "terms": self.terms,
            "share_projections": self.share_projections,
            "position_dropout": self.position_dropout.rate,
        }
