"""Scores of a search: a model's, and BM25's on the same queries."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_bert_lite.finetuning.saved_run import SavedRun
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.data.retrieval import RetrievalSet
from keras_bert_lite.training.scores.intervals import intervals
from keras_bert_lite.training.scores.ranking import (
    Ranking,
    ranking_details,
    ranking_verdicts,
)
from keras_bert_lite.training.scores.scorer import worst
from keras_bert_lite.training.scores.sentences import FOUND, PairScorer


def evaluate_retrieval(run: SavedRun, data: RetrievalSet) -> dict[str, Any]:
    """Scores a model that searches, as `kbl.evaluate` returns it.

    Raises:
        ValueError: If the model's task is not to search.
    """
    task = task_of(run.model)
    form = task.fine_tuning if task else None
    search = form.search if form else None
    if search is None:
        able = [name for name, form in TUNABLE.items() if form.search]
        raise ValueError(
            f"`model` must be of one of the tasks {able} to be scored on a retrieval "
            f"set. Received: {task and task.name!r}"
        )
    queries, texts = [data.queries[x] for x in data.asked], [*data.corpus.values()]
    found = search(run.scored_model(run.spec()), queries, texts)
    simple, _ = BM25(texts).rank(queries, FOUND)
    scorer, rankings = PairScorer(), _rankings(data, found)
    details = ranking_details(scorer.metrics, rankings)
    beside = ranking_details(scorer.metrics, _rankings(data, simple))
    return {
        "rows": len(queries),
        "scores": scorer.combine(details),
        "intervals": intervals(scorer, details),
        "baselines": {"BM25": scorer.combine(beside)},
        "confused": [],
        "worst": worst(ranking_verdicts(rankings)),
    }


def _rankings(data: RetrievalSet, found: Iterable[np.ndarray]) -> list[Ranking]:
    ids, rankings = [*data.corpus], []
    for query, places in zip(data.asked, found, strict=True):
        judged = data.judgements[query]
        grades = [float(judged.get(ids[i], 0)) for i in places]
        best = max(judged, key=lambda text: judged[text])
        first = data.corpus[ids[places[0]]]
        text, right = data.queries[query], data.corpus[best]
        rankings.append(Ranking(text, first, right, grades, [*judged.values()]))
    return rankings
