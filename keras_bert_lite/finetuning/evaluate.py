"""Scores of a model on rows, in one call."""

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, Unpack

from keras_bert_lite.finetuning.kinds.base import Answers, Kind, Labels, Rows
from keras_bert_lite.finetuning.rows import check_labels, read_rows
from keras_bert_lite.finetuning.saved_run import load_run
from keras_bert_lite.tasks.text_model import TextModel, model_on_ids
from keras_bert_lite.training.data.readers.read import Reading, check_reading

WORST = 20


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
        below); `confused`, the labels that were mistaken most often; `worst`, the rows
        that the model gets most wrong.

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
    kind = run.kind(columns)
    rows = read_rows(data, kind, "data", **reading)
    labels = kind.labels_of(model_on_ids(run.model))
    if kind.needs_known_labels:
        check_labels(rows, kind, labels, "data")
    answers = kind.answer(run.scored_model(kind), rows)
    return {
        "rows": len(rows),
        "scores": kind.scores(rows, answers, labels),
        **mistakes(kind, rows, answers, labels),
    }


def mistakes(kind: Kind, rows: Rows, answers: Answers, labels: Labels) -> dict:
    """Returns what a model gets wrong: labels it mistakes, and its worst rows."""
    confused = Counter(kind.confused(rows, answers))
    verdicts = kind.verdicts(rows, answers, labels)
    worst = sorted(verdicts, key=lambda x: -x.loss)[:WORST]
    return {
        "confused": [
            {"expected": a, "answer": b, "count": count}
            for (a, b), count in confused.most_common(WORST)
        ],
        "worst": [x._asdict() for x in worst if x.expected != x.answer],
    }
