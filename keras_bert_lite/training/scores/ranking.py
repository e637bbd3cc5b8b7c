"""Scores of rankings: how early the relevant documents of a query come."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from keras_bert_lite.training.data.retrieval import RetrievalSet
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


class Ranking(NamedTuple):
    """Documents in the order of an answer.

    Args:
        query: What they were ranked for.
        first: The first document.
        best: The one with the highest grade, of all that were judged.
        grades: The grades in the order of the answer.
        judged: The grades of all documents that were judged; `None`: the same.
    """

    query: str
    first: str
    best: str
    grades: list[float]
    judged: list[float] | None = None


class RankingScorer(Scorer):
    """Rankings of a query's candidates: nDCG, MRR, MAP, and the first one alone."""

    metrics: ClassVar[tuple[str, ...]] = ("ndcg@10", "mrr@10", "map", "accuracy@1")
    shares = ("accuracy@1",)

    def rankings(self, rows: Rows, answers: Answers) -> list[Ranking]:
        """Returns the ranking of each row's candidates."""
        rankings = []
        for row, order in zip(rows, answers["order"], strict=True):
            listed, grades = row["candidates"], row["grades"]
            places = [i for i in order if 0 <= i < len(listed)]  # others fill it up
            best = listed[int(np.argmax(grades))]
            ranked = [grades[i] for i in places]
            rankings.append(Ranking(row["query"], listed[places[0]], best, ranked))
        return rankings

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        return ranking_details(self.metrics, self.rankings(rows, answers))

    def combine(self, details: Details) -> Scores:
        return {name: float(values.mean()) for name, values in details.items()}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        return ranking_verdicts(self.rankings(rows, answers))


def rankings_of(data: RetrievalSet, found: Iterable[Sequence[str]]) -> list[Ranking]:
    """Returns what a search found, by ids, with the judgements of each query."""
    rankings = []
    for query, ids in zip(data.answerable, found, strict=True):
        judged = data.judgements[query]
        grades = [float(judged.get(x, 0)) for x in ids]
        first = data.corpus.get(ids[0], "") if len(ids) else ""
        right = data.corpus[max(judged, key=lambda x: judged[x])]
        ranking = Ranking(data.queries[query], first, right, grades, [*judged.values()])
        rankings.append(ranking)
    return rankings


def ranking_details(names: Sequence[str], rankings: Sequence[Ranking]) -> Details:
    """Returns the scores of each ranking, by name."""
    scores = [ranking_scores(names, x.grades, x.judged) for x in rankings]
    return {name: np.array([x[name] for x in scores]) for name in names}


def ranking_verdicts(rankings: Sequence[Ranking]) -> list[Verdict]:
    """Judges each ranking by its first document and its nDCG."""
    verdicts = []
    for ranking in rankings:
        highest = max(ranking.grades if ranking.judged is None else ranking.judged)
        expected = ranking.first if ranking.grades[:1] == [highest] else ranking.best
        loss = 1 - ranking_scores(["ndcg"], ranking.grades, ranking.judged)["ndcg"]
        verdicts.append(Verdict(ranking.query, expected, ranking.first, loss))
    return verdicts
