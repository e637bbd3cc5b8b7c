"""Scores of a search: a model's or an index's, and BM25's on the same queries."""

import os
from typing import Any

from keras_bert_lite.finetuning.saved_run import load_run
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.search.load import Index, is_index
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.data.retrieval import RetrievalSet
from keras_bert_lite.training.scores.intervals import intervals
from keras_bert_lite.training.scores.ranking import (
    ranking_details,
    ranking_verdicts,
    rankings_of,
)
from keras_bert_lite.training.scores.scorer import worst
from keras_bert_lite.training.scores.sentences import FOUND, PairScorer


def evaluate_retrieval(
    model: TextModel | Index | str | os.PathLike, data: RetrievalSet
) -> dict[str, Any]:
    """Scores a search, as `kbl.evaluate` returns it.

    Raises:
        ValueError: If the model's task is not to search, or an index has other ids.
    """
    queries, texts = [data.queries[x] for x in data.answerable], [*data.corpus.values()]
    ids = [*data.corpus]
    scorer, metrics = PairScorer(), [*PairScorer.metrics]
    if isinstance(model, Index) or is_index(model):
        index = model if isinstance(model, Index) else Index(model)
        found, metrics = _found_by_index(index, data, queries), metrics_of(index.k)
    else:
        found = [[ids[i] for i in x] for x in _found_by_model(model, queries, texts)]
    simple, _ = BM25(texts).rank(queries, FOUND)
    rankings = rankings_of(data, found)
    details = ranking_details(metrics, rankings)
    by_words = rankings_of(data, [[ids[i] for i in places] for places in simple])
    return {
        "rows": len(queries),
        "scores": scorer.combine(details),
        "intervals": intervals(scorer, details),
        "baselines": {"BM25": scorer.combine(ranking_details(metrics, by_words))},
        "confused": [],
        "worst": worst(ranking_verdicts(rankings)),
    }


def metrics_of(k: int) -> list[str]:
    """Returns the metrics of a search that finds k texts: of no more than these."""
    parts = (name.split("@") for name in PairScorer.metrics)
    return [f"{name}@{min(int(depth), k)}" for name, depth in parts]


def _found_by_index(
    index: Index, data: RetrievalSet, queries: list[str]
) -> list[list[str]]:
    found = index.best_ids(queries)
    if unknown := {x for ids in found for x in ids} - data.corpus.keys():
        raise ValueError(
            "`data` must have the texts of the index, by the same ids. Received: none "
            f"of the ids {sorted(unknown)[:3]}, which the index found"
        )
    return found


def _found_by_model(source: Any, queries: list[str], texts: list[str]) -> Any:
    run = load_run(source, "model")
    task = task_of(run.model)
    form = task.fine_tuning if task else None
    search = form.search if form else None
    if search is None:
        able = [name for name, form in TUNABLE.items() if form.search]
        raise ValueError(
            f"`model` must be of one of the tasks {able} to be scored on a retrieval "
            f"set. Received: {task and task.name!r}"
        )
    return search(run.scored_model(run.spec()), queries, texts)
