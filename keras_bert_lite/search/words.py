"""BM25 in stock operations: the words of a query looked up in postings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.search.vectors import best_of, rows_of
from keras_bert_lite.training.bm25 import BM25

# Words as `BM25` has them: runs of letters, digits and underscores in lower case.
OTHERS = r"[^\pL\pN_]+"
HASHES = 2**63 - 1


def word_hashes(texts: tf.Tensor) -> tf.RaggedTensor:
    """Returns the hashes of the words of texts, int64 `(B, words)`."""
    words = tf.strings.lower(texts, encoding="utf-8")
    words = tf.strings.split(tf.strings.regex_replace(words, OTHERS, " "))
    return tf.ragged.map_flat_values(hash_words, words)


def hash_words(words: tf.Tensor) -> tf.Tensor:
    return tf.strings.to_hash_bucket_fast(words, HASHES)


def word_table(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Returns what `Words` is made of: for each word, texts and what it adds there."""
    words, weights = BM25(texts).weights()
    hashes = hash_words(tf.constant(words)).numpy()
    order = np.argsort(hashes)
    postings = weights[:, order].tocsc()
    postings.sort_indices()
    return {
        "hashes": hashes[order],
        "starts": postings.indptr.astype(np.int64),
        "positions": postings.indices.astype(np.int32),
        "weights": postings.data.astype(np.float32),
    }


class Words:
    """Scores N texts by the words of a query, as `BM25` does.

    Args:
        variables: What `word_table` returned, as variables.
    """

    def __init__(self, variables: dict[str, Any]) -> None:
        self._of = variables

    def scores(self, words: tf.Tensor, total: tf.Tensor) -> tf.Tensor:
        """Returns the scores of all texts, `(N,)`, from a query's hashes `(words,)`."""
        hashes = self._of["hashes"].read_value()
        places = tf.searchsorted(hashes[tf.newaxis], words[tf.newaxis])[0]
        known = tf.gather(hashes, tf.minimum(places, tf.shape(hashes)[0] - 1)) == words
        places = tf.boolean_mask(places, known)
        starts, ends = (rows_of(self._of["starts"], places + i) for i in range(2))
        postings = tf.ragged.range(starts, ends).flat_values
        return tf.math.unsorted_segment_sum(
            rows_of(self._of["weights"], postings),
            rows_of(self._of["positions"], postings),
            total,
        )


def best_by_words(scores: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the positions of the texts with the highest scores above 0."""
    found = tf.where(scores > 0)[:, 0]
    return best_of(tf.cast(found, tf.int32), tf.gather(scores, found), count)


def standardized(all_scores: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
    """Returns by how many standard deviations of all texts scores exceed theirs."""
    mean, variance = tf.nn.moments(all_scores, 0)
    return tf.math.divide_no_nan(scores - mean, tf.sqrt(variance))
