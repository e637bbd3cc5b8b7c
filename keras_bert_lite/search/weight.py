"""How much vectors count beside words, chosen by judged queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.search.corpus import ID
from keras_bert_lite.training.data.retrieval import RetrievalSet
from keras_bert_lite.training.scores.ranking import (
    ranking_details,
    rankings_of,
)

WEIGHT = 0.6  # if there are no judged queries; see benchmarks.hybrid_weight
TRIED = [round(0.05 * x, 2) for x in range(1, 20)]
FOUND = 10  # texts of a query that count
METRIC = f"ndcg@{FOUND}"
BATCH = 32


def best_weight(
    find: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
    embed: Callable[[tf.Tensor], tf.Tensor],
    weight: tf.Variable,
    ids: Sequence[ID],
    judged: RetrievalSet,
) -> float:
    """Returns the weight with the highest nDCG of the first 10.

    If several have it, it is the middle one.

    Args:
        find: From queries `(B,)` and their vectors to places of texts, `(B, k)`, by the
            present value of `weight`.
        embed: From queries to their vectors.
        weight: Is changed.
        ids: The ids of the texts.
        judged: Queries and judgements; its ids are those of the texts.
    """
    queries = [judged.queries[x] for x in judged.answerable]
    batches = [
        tf.constant(queries[i : i + BATCH]) for i in range(0, len(queries), BATCH)
    ]
    vectors = [embed(batch) for batch in batches]
    names = [str(x) for x in ids]
    scores = []
    for value in TRIED:
        weight.assign(value)
        places = [find(*x).numpy() for x in zip(batches, vectors, strict=True)]
        found = [[names[i] for i in x if i >= 0] for x in np.concatenate(places)]
        scores.append(ranking_details([METRIC], rankings_of(judged, found))[METRIC])
    means = np.mean(scores, 1)
    best = np.flatnonzero(means >= means.max() - 1e-9)
    return TRIED[best[len(best) // 2]]
