"""Scores of a model on rows, in one call."""

import os
from collections.abc import Mapping
from typing import Any, Unpack

from keras_bert_lite.finetuning.rows import check_labels, read_rows
from keras_bert_lite.finetuning.saved_run import load_run
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.training.data.readers.read import Reading, check_reading
from keras_bert_lite.training.scores.intervals import intervals


def evaluate(
    model: TextModel | str | os.PathLike,
    data: Any,
    columns: Mapping[str, str | None] | None = None,
    **reading: Unpack[Reading],
) -> dict[str, Any]:
    """Scores a model that takes strings.

    Args:
        model: The directory of a run of `finetune`, a `.keras` file, or a model made
            by `with_text`.
        data: Rows: a file, a DataFrame, a list of dictionaries; see `data.read`.
        columns: See `finetune`; by default those of the run.
        **reading: Options of `data.read`, if `data` is a file.

    Returns:
        A dictionary: `rows`, their number; `scores` by name, which are the task's (see
        below); `intervals`, the 95 % confidence interval of each; `confused`, the
        labels that were mistaken most often; `worst`, the rows that the model gets most
        wrong.

    Raises:
        ValueError: If a row is invalid, or its label, but for an intent or a tag,
            unknown to the model, or the model's task cannot be scored.

    The scores, where macro F1 is the mean of the labels that occur in `data` or in the
    answers:

    - text classification: accuracy, macro F1 and Matthews' correlation;
    - several labels: micro and macro F1;
    - regression: Spearman's and Pearson's correlation, and the mean absolute error;
    - tags: F1 of entities and accuracy of words; with intents also their accuracy, and
      the share of texts that are right as a whole (`exact`);
    - answers to questions: exact match and F1, as SQuAD's script; choices: accuracy.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"], pooling="mean")
    >>> rows = [{"text": "a lovely day", "label": "good"}]
    >>> found = kbl.evaluate(kbl.with_text(model, preprocessor), rows)
    >>> sorted(found["scores"])
    ['accuracy', 'macro_f1', 'matthews']
    """
    check_reading(reading)
    run = load_run(model, "model")
    spec = run.spec(columns)
    rows, _ = read_rows(data, spec.format, spec.columns, "data", **reading)
    scorer, labels = spec.scorer, spec.labels
    if scorer.needs_known_labels:
        check_labels(rows, spec.format, labels, "data")
    answers = spec.answer(run.scored_model(spec), rows)
    details = scorer.details(rows, answers, labels)
    return {
        "rows": len(rows),
        "scores": scorer.combine(details),
        "intervals": intervals(scorer, details),
        **scorer.mistakes(rows, answers, labels),
    }
