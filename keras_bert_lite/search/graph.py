"""A search from strings to the best texts of a corpus, in stock operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.search.vectors import Vectors, best_of, rows_of
from keras_bert_lite.search.words import (
    Words,
    best_by_words,
    standardized,
    word_hashes,
)

SPACES = r"[\s\v\x1c-\x1f\x{85}\pZ]*"  # what Python's `strip` removes
EPSILON = 1e-5  # of a variance, or rounding would tell equal scores apart
CANDIDATES_EACH = 100  # that vectors and words each put forward, if both are used
Outputs = dict[str, "tf.Tensor"]


@dataclasses.dataclass(frozen=True)
class Form:
    """What is fixed when an index is made.

    Args:
        k: How many texts a search returns.
        probes: How many inverted lists are searched; 0: all vectors, exactly.
        hybrid: Whether BM25's scores count too.
        rerank: How many texts the ranker puts in order; 0: there is none.
        ranker_weight: Of the ranker's standardized score; the search's has the rest of
            1. At 1, the ranker's own scores are returned.
    """

    k: int
    probes: int
    hybrid: bool
    rerank: int
    ranker_weight: float


class Search:
    """Finds the texts of a corpus that fit queries best.

    Args:
        form: What is fixed.
        variables: `ids`, `texts`, `vectors` and, for a hybrid search, `words` and
            `weight`, of the vectors' standardized score; BM25's has the rest of 1.
        embed: From queries, strings `(B,)`, to vectors of length 1, `(B, H)`.
        rank: From queries and candidates, `(B, C)`, to scores `(B, C)`, -inf for empty
            candidates; `None`: there is no ranker.
    """

    def __init__(
        self,
        form: Form,
        variables: dict[str, Any],
        embed: Callable,
        rank: Callable | None = None,
    ) -> None:
        self._form, self._embed, self._rank = form, embed, rank
        self._ids, self._texts = variables["ids"], variables["texts"]
        self._vectors = Vectors(variables["vectors"], form.probes)
        self._words = Words(variables["words"]) if form.hybrid else None
        self._weight: Any = variables.get("weight")

    def __call__(self, text: tf.Tensor) -> Outputs:
        """Returns `ids`, `texts` and `scores` of the best texts, `(B, k)` each.

        Where there are fewer, the id is -1 (or empty), the text empty and the score
        -inf; for a query without any character but spaces there are none.
        """
        form = self._form
        places, scores = self.find(text, self._embed(text), max(form.k, form.rerank))
        empty = tf.strings.regex_full_match(text, SPACES)
        places = tf.where(empty[:, tf.newaxis], -1, places)
        if self._rank is not None:
            best = places[:, : form.rerank], scores[:, : form.rerank]
            places, scores = self._reranked(text, *best)
        places = places[:, : form.k]
        scores = tf.where(places < 0, -np.inf, scores[:, : form.k])
        absent = "" if self._ids.dtype == tf.string else np.int64(-1)
        return {
            "ids": self._at(self._ids, places, absent),
            "texts": self._at(self._texts, places, ""),
            "scores": scores,
        }

    def find(
        self, text: tf.Tensor, vectors: tf.Tensor, count: int
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the places of the best texts before reranking, and their scores."""
        if self._words is None:
            return self._vectors.nearest(vectors, count)
        return self._by_both(text, vectors, count)

    def _by_both(
        self, text: tf.Tensor, vectors: tf.Tensor, count: int
    ) -> tuple[tf.Tensor, tf.Tensor]:
        each = max(CANDIDATES_EACH, count)
        nearest = self._vectors.nearest(vectors, each)
        hashes, total = word_hashes(text), tf.shape(self._texts)[0]

        def of_one(query):
            words, vector, near, cosines = query
            assert self._words is not None
            all_scores = self._words.scores(words, total)
            shared, _ = best_by_words(all_scores, each)
            also_near = tf.reduce_any(shared[:, tf.newaxis] == near, 1)
            shared = tf.boolean_mask(shared, (shared >= 0) & ~also_near)
            cosines = tf.concat([cosines, self._vectors.cosines(vector, shared)], 0)
            places = tf.concat([near, shared], 0)
            scores = tf.gather(all_scores, tf.maximum(places, 0))
            by_vectors = self._vectors.standardized(vector, cosines)
            by_words = standardized(all_scores, scores)
            total_score = self._weight * by_vectors + (1 - self._weight) * by_words
            total_score = tf.where(places < 0, -np.inf, total_score)
            return best_of(places, total_score, count)

        specs = (tf.TensorSpec([count], tf.int32), tf.TensorSpec([count], tf.float32))
        queries = (hashes, vectors, *nearest)
        return tf.map_fn(of_one, queries, fn_output_signature=specs)

    def _reranked(
        self, text: tf.Tensor, places: tf.Tensor, before: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        weight = self._form.ranker_weight
        candidates = self._at(self._texts, places, "")
        scores = self._scores(text, candidates)
        if weight < 1:
            by_ranker, by_search = map(standardized_rows, (scores, before))
            both = weight * by_ranker + (1 - weight) * by_search
            scores = tf.where(scores > -np.inf, both, -np.inf)
        scores, order = tf.math.top_k(scores, self._form.rerank)
        return tf.gather(places, order, batch_dims=1), scores

    def _scores(self, text: tf.Tensor, candidates: tf.Tensor) -> tf.Tensor:
        """Ranks the texts of one query after the other, so that memory is bounded."""

        def of_one(query):
            assert self._rank is not None
            return self._rank(*(x[tf.newaxis] for x in query))[0]

        spec = tf.TensorSpec([self._form.rerank], tf.float32)
        return tf.map_fn(
            of_one,
            (text, candidates),
            fn_output_signature=spec,
            parallel_iterations=1,
        )

    def _at(self, values: Any, places: tf.Tensor, absent: Any) -> tf.Tensor:
        known = rows_of(values, tf.maximum(places, 0))
        return tf.where(places < 0, tf.constant(absent, values.dtype), known)


def standardized_rows(scores: tf.Tensor) -> tf.Tensor:
    """Returns by how many standard deviations scores exceed the mean of their row.

    Args:
        scores: float32 `(B, C)`; those of -inf do not count and remain.
    """
    known = scores > -np.inf
    count = tf.reduce_sum(tf.cast(known, tf.float32), 1, keepdims=True)

    def mean(x):
        total = tf.reduce_sum(tf.where(known, x, 0.0), 1, keepdims=True)
        return tf.math.divide_no_nan(total, count)

    centred = tf.where(known, scores, 0.0) - mean(scores)
    deviation = tf.sqrt(mean(centred**2) + EPSILON)
    return tf.where(known, centred / deviation, -np.inf)
