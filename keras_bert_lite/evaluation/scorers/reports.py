"""Scorers with reports on labels and entities."""

from collections.abc import Iterable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from keras_bert_lite.checks import check_installed
from keras_bert_lite.evaluation.callback import Score
from keras_bert_lite.tasks.outputs import (
    batches,
    check_targets,
    scored_labels,
    scores_of,
)
from keras_bert_lite.training.metrics.entity_f1 import best_tags, targets_mask

AVERAGES = {"micro avg": "", "macro avg": "macro_", "weighted avg": "weighted_"}
MEASURES = {"precision": "precision", "recall": "recall", "f1-score": "f1"}


def classification_report(
    data: Iterable, labels: Sequence[str] | None = None, output: str | None = None
) -> Score:
    """Accuracy, precision, recall and F1, as in scikit-learn's report.

    Args:
        data: Batches whose targets are label indices, `(B,)` or `(B, 1)`. Weights
            of the same shape are applied.
        labels: The names of the labels; `None`: those of the model's head.
        output: The name of the output to score, if the model has several.

    Returns:
        A function that returns `accuracy`; `precision`, `recall` and `f1` of each
        label (`f1/label`), their means (`macro_f1`) and their means weighted by
        how often a label is true (`weighted_f1`). 0/0 counts as 0.

    Raises:
        ValueError: When called, if the model's head has no labels, or a target is
            not one of them.
    """
    from sklearn import metrics  # slow to import

    def score(model: keras.Model) -> dict[str, float]:
        names = scored_labels(model, labels, output)
        rows = [
            (
                y,
                np.argmax(scores_of(model, x, output), -1),
                np.ones(len(y)) if w is None else w,
            )
            for x, y, w in batches(data, output)
        ]
        true, found, weights = (
            np.concatenate(x, None) for x in zip(*rows, strict=True)
        )
        check_targets(true[weights != 0], names)
        report = metrics.classification_report(
            true[weights != 0],
            found[weights != 0],
            labels=range(len(names)),
            target_names=names,
            sample_weight=weights[weights != 0],
            zero_division=0,
            output_dict=True,
        )
        return {"accuracy": float(report.pop("accuracy")), **_flat(report)}

    return score


def entity_report(
    data: Iterable, labels: Sequence[str] | None = None, output: str | None = None
) -> Score:
    """Precision, recall and F1 of whole entities, as in seqeval's report.

    Args:
        data: Batches whose targets are tag indices, `(B, S)`. Positions with
            weight 0 are skipped.
        labels: The names of the tags, such as `"B-PER"`; `None`: those of the
            model's head.
        output: The name of the output to score, if the model has several.

    Returns:
        A function that returns `precision`, `recall` and `f1` of all entities
        (CoNLL's metrics) and of each type (`f1/PER`), and the means over the types
        (`macro_f1`, `weighted_f1`). 0/0 counts as 0. With a CRF, the best path is
        scored.

    Raises:
        ImportError: If seqeval is not installed.
        ValueError: When called, if the model's head has no labels, or a target is
            not one of them.
    """
    check_installed("seqeval", extra="evaluation")
    from seqeval import metrics

    def score(model: keras.Model) -> dict[str, float]:
        names = scored_labels(model, labels, output)
        true: list[list[str]] = []
        found: list[list[str]] = []
        for x, y, w in batches(data, output):
            mask = ops.convert_to_numpy(targets_mask(y, w))
            check_targets(y[mask], names)
            true += _named(y, mask, names)
            tags = best_tags(ops.convert_to_tensor(scores_of(model, x, output)), mask)
            found += _named(ops.convert_to_numpy(tags), mask, names)
        if not metrics.sequence_labeling.get_entities(true + found):
            return {p + x: 0.0 for p in AVERAGES.values() for x in MEASURES.values()}
        options = {"output_dict": True, "zero_division": 0}
        return _flat(metrics.classification_report(true, found, **options))

    return score


def _named(tags: np.ndarray, mask: np.ndarray, names: list[str]) -> list[list[str]]:
    """Returns the names of the tags where the mask is true, row by row."""
    return [
        [names[int(tag)] for tag in row[kept]]
        for row, kept in zip(tags, mask, strict=True)
    ]


def _flat(report: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Flattens a report by label and measure to numbers by name, averages first."""
    numbers = {}
    for name in sorted(report, key=lambda name: name not in AVERAGES):
        for measure, short in MEASURES.items():
            average = name in AVERAGES
            key = AVERAGES[name] + short if average else f"{short}/{name}"
            numbers[key] = float(report[name][measure])
    return numbers
