"""Scores of sentence vectors: similarities, triplets, and pairs found among others.

Answers are the vectors of each row's texts, `sentence_embedding` `(N, C, H)`; or, of
models without vectors, what would follow from these: `similarity`, `(N, C - 1)`, of the
first text with each other; of pairs, `order`, the places of second texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from keras_bert_lite.training.data.row_formats import Labels, Rows
from keras_bert_lite.training.scores.ranking import Ranking, RankingScorer
from keras_bert_lite.training.scores.scorer import (
    Answers,
    Details,
    Scorer,
    Scores,
    Verdict,
)
from keras_bert_lite.training.scores.texts import correlations, shown, targets

VECTORS = "sentence_embedding"
FOUND = 100  # texts that count of a search
CHUNK = 64  # queries whose scores of all texts are in memory at once


class SimilarityScorer(Scorer):
    """How alike two texts are: Spearman's and Pearson's correlation with the cosine.

    Of 0 and 1 also the average precision, and the accuracy and F1 of telling them
    apart by the threshold that suits the rows best.
    """

    metrics = ("spearman", "pearson")

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        true = np.array(targets(rows), float)
        binary = np.full(len(rows), np.isin(true, (0, 1)).all() and np.ptp(true) > 0)
        similarity = similarities(answers)[:, 0]
        return {"true": true, "answered": similarity, "binary": binary}

    def combine(self, details: Details) -> Scores:
        true, answered = details["true"], details["answered"]
        scores = correlations(true, answered)
        return {**scores, **_binary(true, answered)} if details["binary"][0] else scores

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        cosines = similarities(answers)[:, 0]
        # Numbers may have any scale.
        losses = np.abs(_shares(targets(rows)) - _shares(cosines)).tolist()
        return [
            Verdict(shown(row), f"{row['label']:.6g}", f"{cosine:.3f}", loss)
            for row, cosine, loss in zip(rows, cosines, losses, strict=True)
        ]


class TripletScorer(Scorer):
    """Triplets: how often the second text is more like the first than the third is."""

    metrics = ("accuracy",)
    shares = ("accuracy",)

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        positive, negative = similarities(answers).T
        return {"accuracy": positive > negative}

    def combine(self, details: Details) -> Scores:
        return {"accuracy": float(details["accuracy"].mean())}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        return [
            Verdict(
                row["text"],
                row["text_pair"],
                row["text_pair"] if positive > negative else row["negative"],
                float(negative - positive),
            )
            for row, (positive, negative) in zip(
                rows, similarities(answers), strict=True
            )
        ]


class PairScorer(RankingScorer):
    """Pairs: how early the second text is found among those of all rows."""

    metrics: ClassVar[tuple[str, ...]] = (
        "ndcg@10",
        "mrr@10",
        f"map@{FOUND}",
        "recall@10",
        "accuracy@1",
    )

    def rankings(self, rows: Rows, answers: Answers) -> list[Ranking]:
        texts = second_texts(rows)
        right: dict[str, set[str]] = {}
        for row in rows:
            right.setdefault(row["text"], set()).add(row["text_pair"])
        orders = answers["order"] if "order" in answers else _orders(rows, answers)
        rankings = []
        for row, order in zip(rows, orders, strict=True):
            found, known = [texts[i] for i in order], right[row["text"]]
            grades = [float(text in known) for text in found]
            rankings.append(
                Ranking(
                    row["text"], found[0], row["text_pair"], grades, [1.0] * len(known)
                )
            )
        return rankings


def second_texts(rows: Rows) -> list[str]:
    """Returns the second texts of all rows, each once, in order."""
    return [*dict.fromkeys(row["text_pair"] for row in rows)]


def similarities(answers: Answers) -> np.ndarray:
    """Returns the cosine of each row's first text with its others, `(N, C - 1)`."""
    if "similarity" in answers:
        return answers["similarity"]
    vectors = unit_vectors(answers[VECTORS])
    return np.einsum("nh,nch->nc", vectors[:, 0], vectors[:, 1:])


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Scales vectors `(..., H)` to length 1; zero vectors remain."""
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


def best_places(scores: np.ndarray, count: int) -> np.ndarray:
    """Returns the places of the highest scores that are finite, the highest first.

    Equal scores are in the order of their places.
    """
    count = min(count, len(scores))
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    best = np.flatnonzero(scores >= least)
    best = best[np.argsort(-scores[best], kind="stable")][:count]
    return best[np.isfinite(scores[best])]


def all_cosines(queries: np.ndarray, texts: np.ndarray) -> Iterator[np.ndarray]:
    """Yields the cosine of each query `(Q, H)` with all texts `(N, H)`, `(N,)` each."""
    queries, texts = unit_vectors(queries), unit_vectors(texts)
    for start in range(0, len(queries), CHUNK):
        yield from queries[start : start + CHUNK] @ texts.T


def _orders(rows: Rows, answers: Answers) -> list[np.ndarray]:
    place = {row["text_pair"]: i for i, row in reversed([*enumerate(rows)])}
    first = [place[text] for text in second_texts(rows)]
    queries, texts = answers[VECTORS][:, 0], answers[VECTORS][first, 1]
    return [best_places(scores, FOUND) for scores in all_cosines(queries, texts)]


def _binary(true: np.ndarray, answered: np.ndarray) -> Scores:
    """Returns scores of telling 1 from 0.

    Reference: `BinaryClassificationEvaluator` of sentence-transformers.
    """
    order = np.argsort(-answered, kind="stable")
    # A threshold lies between two scores that differ.
    ends = np.append(np.diff(answered[order]) != 0, True)
    hits = true[order].cumsum()[ends]
    named = np.arange(1, len(true) + 1)[ends]
    positives = true.sum()  # none in some samples of few rows
    right = hits + (len(true) - positives) - (named - hits)
    precisions = np.diff(hits, prepend=0) * hits / named
    return {
        "average_precision": float(precisions.sum() / max(positives, 1)),
        "accuracy": float(max(right.max(), len(true) - positives) / len(true)),
        "f1": float((2 * hits / (named + positives)).max()),
    }


def _shares(values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Scales values so that the lowest is 0 and the highest 1."""
    x = np.asarray(values, float)
    return (x - x.min()) / max(np.ptp(x), 1e-12)
