"""One scorer for all sides."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.finetuning.tasks import Task


def score(
    task: Task, rows: Sequence[dict[str, Any]], predictions: Sequence[Any]
) -> dict[str, float]:
    """Returns the metrics of a task in percent.

    Args:
        task: See `tasks.TASKS`.
        rows: What was predicted on.
        predictions: For each row the index of a label, a number, a list of tags or
            the text of an answer, as the task's kind is.

    Raises:
        ValueError: If there are more or fewer predictions than rows, or a row has
            more or fewer tags than words.
    """
    if len(predictions) != len(rows):
        raise ValueError(
            f"`predictions` must be {len(rows)}, one a row. "
            f"Received: {len(predictions)}"
        )
    scorers = {"class": _class, "number": _number, "tags": _tags, "answer": _answer}
    values = scorers[task.kind](rows, predictions)
    return {name: round(float(values[name]), 2) for name in task.metrics}


def _class(rows, predictions) -> dict[str, float]:
    target, predicted = np.array([row["target"] for row in rows]), np.array(predictions)
    common = np.sum((target == 1) & (predicted == 1))
    positive = np.sum(target == 1) + np.sum(predicted == 1)
    return {
        "accuracy": 100 * np.mean(target == predicted),
        "f1": 200 * common / max(positive, 1),
    }


def _number(rows, predictions) -> dict[str, float]:
    from scipy import stats

    target = [row["target"] for row in rows]
    return {
        "pearson": 100 * stats.pearsonr(target, predictions).statistic,
        "spearman": 100 * stats.spearmanr(target, predictions).statistic,
    }


def _tags(rows, predictions) -> dict[str, float]:
    from seqeval.metrics import f1_score

    target = [row["tags"] for row in rows]
    pairs = zip(target, predictions, strict=True)
    if wrong := [i for i, (a, b) in enumerate(pairs) if len(a) != len(b)]:
        raise ValueError(
            f"`predictions` must have a tag for each word. Received: others in rows "
            f"{wrong[:8]}"
        )
    return {"entity_f1": 100 * f1_score(target, list(predictions))}


def _answer(rows, predictions) -> dict[str, float]:
    from keras_bert_lite.evaluation import squad_scores

    ids = (row["id"] for row in rows)
    return squad_scores(rows, dict(zip(ids, predictions, strict=True)))
