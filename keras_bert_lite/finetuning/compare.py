"""Which of two models is better on the same rows, and whether that is chance."""

import os
from collections.abc import Mapping
from typing import Any, Unpack

from keras_bert_lite.checks import check_choice
from keras_bert_lite.finetuning.rows import check_labels, read_rows
from keras_bert_lite.finetuning.saved_run import load_run
from keras_bert_lite.finetuning.spec import Spec
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.training.data.readers.read import Reading, check_reading
from keras_bert_lite.training.scores.intervals import difference


def compare(
    first: TextModel | str | os.PathLike,
    second: TextModel | str | os.PathLike,
    data: Any,
    metric: str | None = None,
    columns: Mapping[str, str | None] | None = None,
    **reading: Unpack[Reading],
) -> dict[str, Any]:
    """Compares two models on the same rows.

    Args:
        first, second: The directories of runs of `finetune`, `.keras` files, or models
            made by `with_text`, of the same task and labels.
        data: Rows; see `data.read`. They are held in memory.
        metric: The score that is compared, one of those that `evaluate` gives; `None`:
            the task's first.
        columns: The names of columns that differ from those of the first run.
        **reading: Options of `data.read`, if `data` is a file.

    Returns:
        A dictionary: `rows`, their number; `metric`; `scores`, those of `first` and of
        `second`; `difference`, the second score minus the first, and `interval`, its
        95 % confidence interval; `p_value`, how likely a difference as large would be
        if neither were better: by McNemar's exact test if the score is a share of rows
        that are right, by the bootstrap for others; `answers`, the rows that one of
        them answers right and the other does not: `text`, `expected`, `first` and
        `second`.

    Raises:
        ValueError: If the models have different tasks or labels, or a row is invalid.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"], pooling="mean")
    >>> rows = [{"text": "a lovely day", "label": "good"}]
    >>> served = kbl.with_text(model, preprocessor)
    >>> found = kbl.compare(served, served, rows)
    >>> found["difference"], found["p_value"]
    (0.0, 1.0)

    Reference: [McNemar, 1947](https://doi.org/10.1007/BF02295996);
    [Berg-Kirkpatrick et al., 2012](https://aclanthology.org/D12-1091/), the bootstrap.
    """
    check_reading(reading)
    runs = [load_run(first, "first"), load_run(second, "second")]
    specs = [run.spec(columns) for run in runs]
    spec, other = specs
    if (spec.task, _labels(spec)) != (other.task, _labels(other)):
        raise ValueError(
            "`second` must have the task and the labels of `first`, "
            f"{spec.task.name!r} and {spec.labels}. Received: {other.task.name!r} and "
            f"{other.labels}"
        )
    if spec.pairs != other.pairs:
        forms = [x.model.input.keys() for x in runs]
        raise ValueError(
            f"`second` must read texts or pairs as `first` does, {[*forms[0]]}. "
            f"Received: {[*forms[1]]}"
        )
    rows, known = read_rows(data, spec.format, spec.columns, "data", **reading)
    specs = [x.of_rows(known) for x in specs]
    spec, scorer = specs[0], specs[0].scorer
    metric = metric or spec.metric
    check_choice("metric", metric, scorer.metrics)
    if scorer.needs_known_labels:
        check_labels(rows, spec.format, spec.labels, "data")
    answers = [
        spec.answer(run.scored_model(own), rows)
        for run, own in zip(runs, specs, strict=True)
    ]
    judged = [(rows, x, own.labels) for x, own in zip(answers, specs, strict=True)]
    details = [scorer.details(*x) for x in judged]
    scores = [scorer.combine(x)[metric] for x in details]
    interval, p_value = difference(scorer, metric, details[0], details[1])
    verdicts = [scorer.verdicts(*x) for x in judged]
    right = [
        x[metric] if metric in scorer.shares else [y.expected == y.answer for y in z]
        for x, z in zip(details, verdicts, strict=True)
    ]
    return {
        "rows": len(rows),
        "metric": metric,
        "scores": {"first": scores[0], "second": scores[1]},
        "difference": scores[1] - scores[0],
        "interval": interval,
        "p_value": p_value,
        "answers": [
            {
                "text": a.text,
                "expected": a.expected if a.expected != a.answer else b.expected,
                "first": a.answer,
                "second": b.answer,
            }
            for a, b, ours, theirs in zip(*verdicts, *right, strict=True)
            if ours != theirs
        ],
    }


def _labels(spec: Spec) -> dict[str, list[str]]:
    """Returns the labels in one order, which does not change what they mean."""
    return {name: sorted(labels) for name, labels in spec.labels.items()}
