"""Scores of rankings: how early the relevant documents of a query come."""

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from keras_bert_lite.training.data.row_formats import Labels, Rows
from keras_bert_lite.training.scores.scorer import (
    Answers,
    Details,
    Scorer,
    Scores,
    Verdict,
)

NAME = re.compile(r"(?P<metric>\w+)(@(?P<k>[1-9][0-9]*))?")
# Of the grades of a ranking's first documents, those of all documents judged, and the
# number of the first; `None`: the first are all.
Metric = Callable[[np.ndarray, np.ndarray, int | None], float]


def ranking_scores(
    names: Sequence[str], grades: Sequence[float], judged: Sequence[float] | None = None
) -> Scores:
    """Scores the ranking of a query.

    A document is relevant if its grade is above 0. Where none is, all scores are 0.

    Args:
        names: The scores: `ndcg`, `mrr`, `map`, `recall`, `precision` or `accuracy`,
            and `@` and the number k of documents that count; without it, all of the
            ranking do.
        grades: The grades of the ranking's documents, the best first; 0 for those that
            were not judged.
        judged: The grades of all documents that were judged for the query; `None`:
            the ranking holds them all.

    Returns:
        The scores by name, each from 0 to 1:

        - `ndcg`: `sum_r y_r / log2(1 + r)`, as a share of that of the best ranking, as
          trec_eval and BEIR compute it (the gain is the grade);
        - `mrr`: 1 over the rank of the first relevant document;
        - `map`: the precisions at the ranks of the relevant documents, summed, over the
          number of documents judged relevant;
        - `recall`: the share of documents judged relevant that are among the first k;
        - `precision`: the share of the first k that is relevant;
        - `accuracy`: 1 if any of the first k is relevant.

    Raises:
        ValueError: If a name is unknown, or a grade is negative or no number.
    """
    ranking = _grades("grades", grades)
    known = ranking if judged is None else _grades("judged", judged)
    scores = {}
    for name in names:
        parts = NAME.fullmatch(name)
        if parts is None or parts["metric"] not in METRICS:
            raise ValueError(
                f"`names` must be of {list(METRICS)}, or with a number of documents, "
                f"such as 'ndcg@10'. Received: {name!r}"
            )
        k = int(parts["k"]) if parts["k"] else None
        metric = METRICS[parts["metric"]]
        relevant = ranking[:k].any() and known.any()
        scores[name] = float(metric(ranking[:k], known, k)) if relevant else 0.0
    return scores


def _grades(argument: str, values: Sequence[float]) -> np.ndarray:
    grades = np.asarray(values, float)
    if grades.ndim != 1 or not (grades >= 0).all():  # nor NaN
        raise ValueError(
            f"`{argument}` must be numbers from 0. Received: {values!r:.200}"
        )
    return grades


def _ndcg(first: np.ndarray, judged: np.ndarray, k: int | None) -> float:
    best = np.sort(judged)[::-1][:k]
    return _dcg(first) / _dcg(best)


def _dcg(grades: np.ndarray) -> float:
    return (grades / np.log2(np.arange(2, len(grades) + 2))).sum()


def _reciprocal_rank(first: np.ndarray, judged: np.ndarray, k: int | None) -> float:
    return 1 / (1 + (first > 0).argmax())


def _average_precision(first: np.ndarray, judged: np.ndarray, k: int | None) -> float:
    hits = first > 0
    precisions = hits.cumsum() / np.arange(1, len(hits) + 1)
    return precisions[hits].sum() / (judged > 0).sum()


def _recall(first: np.ndarray, judged: np.ndarray, k: int | None) -> float:
    return (first > 0).sum() / (judged > 0).sum()


def _precision(first: np.ndarray, judged: np.ndarray, k: int | None) -> float:
    return (first > 0).sum() / (len(first) if k is None else k)


def _accuracy(first: np.ndarray, judged: np.ndarray, k: int | None) -> float:
    return 1.0  # others are 0


METRICS: dict[str, Metric] = {
    "ndcg": _ndcg,
    "mrr": _reciprocal_rank,
    "map": _average_precision,
    "recall": _recall,
    "precision": _precision,
    "accuracy": _accuracy,
}


class RankingScorer(Scorer):
    """Rankings of a query's candidates: nDCG, MRR, MAP, and the first one alone."""

    metrics: ClassVar[tuple[str, ...]] = ("ndcg@10", "mrr@10", "map", "accuracy@1")
    shares = ("accuracy@1",)

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        scores = [
            ranking_scores(self.metrics, grades)
            for grades in _grades_by_rank(rows, answers["order"])
        ]
        return {name: np.array([x[name] for x in scores]) for name in self.metrics}

    def combine(self, details: Details) -> Scores:
        return {name: float(values.mean()) for name, values in details.items()}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        verdicts = []
        ranked = _grades_by_rank(rows, answers["order"])
        for row, order, grades in zip(rows, answers["order"], ranked, strict=True):
            answer = row["candidates"][order[0]]
            best = row["candidates"][int(np.argmax(row["grades"]))]
            expected = answer if grades[0] == max(grades) else best
            loss = 1 - ranking_scores(["ndcg"], grades)["ndcg"]
            verdicts.append(Verdict(row["query"], expected, answer, loss))
        return verdicts


def _grades_by_rank(rows: Rows, orders: Sequence[Sequence[int]]) -> list[list[float]]:
    """Returns the grades of each row's candidates in the order of an answer.

    An order also has the places of what fills up a list.
    """
    return [
        [row["grades"][i] for i in order if 0 <= i < len(row["candidates"])]
        for row, order in zip(rows, orders, strict=True)
    ]
