"""Scores of a model on rows, in one call or at the end of each epoch."""

import functools
import os
from collections.abc import Mapping
from typing import Any, Unpack

import keras

from keras_bert_lite.finetuning.retrieval import evaluate_retrieval
from keras_bert_lite.finetuning.rows import GROUP, check_labels, read_rows
from keras_bert_lite.finetuning.saved_run import SavedRun, load_run
from keras_bert_lite.finetuning.spec import (
    Spec,
    labels_of,
    named_columns,
    scorable_task,
)
from keras_bert_lite.search.load import Index
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.readers.read import Reading, check_reading
from keras_bert_lite.training.data.retrieval import retrieval_set
from keras_bert_lite.training.data.row_formats import Rows
from keras_bert_lite.training.evaluation_callback import Score
from keras_bert_lite.training.scores.intervals import intervals
from keras_bert_lite.training.scores.scorer import Details, Scorer


def evaluate(
    model: TextModel | Index | str | os.PathLike,
    data: Any,
    columns: Mapping[str, str | None] | None = None,
    group: str | None = None,
    **reading: Unpack[Reading],
) -> dict[str, Any]:
    """Scores a model that takes strings.

    Args:
        model: The directory of a run of `finetune`, a `.keras` file, or a model made
            by `with_text`; with a retrieval set also an index, or its directory.
        data: Rows: a file, a DataFrame, a list of dictionaries; see `data.read`. For
            rankers and sentence encoders also a retrieval set: `data.RetrievalSet`, or
            a path that `data.read_beir` reads.
        columns: See `finetune`; by default those of the run.
        group: A column of `data`, such as `"language"`: each of its values is scored
            apart, too.
        **reading: Options of `data.read`, if `data` is a file.

    Returns:
        A dictionary: `rows`, their number; `scores` by name, which are the task's (see
        below); `intervals`, the 95 % confidence interval of each; `baselines`, the same
        scores of models that need no training, such as BM25, where the task has some;
        `confused`, the labels that were mistaken most often; `worst`, the rows that the
        model gets most wrong; with `group`, `groups`: the `rows` and `scores` of each.

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
    - answers to questions: exact match and F1, as SQuAD's script; choices: accuracy;
    - candidates: nDCG and MRR of the first 10, MAP, and how often the first one is
      relevant; see `evaluation.ranking_scores`;
    - pairs that belong together: the same and recall, of finding the second text among
      those of all rows by the cosine; triplets: the share in which the second text is
      nearer than the third; pairs with a number: Spearman's and Pearson's correlation
      of the cosine; of 0 and 1 also the average precision, and the accuracy and F1 of
      the threshold that is best for `data`;
    - a retrieval set: as pairs. A ranker puts the 20 texts in order that BM25 finds,
      an index is scored by the texts that it returns.

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
    if (searched := retrieval_set(data)) is not None:
        if columns or reading or group:
            given = [*(columns or {}), *reading, *([group] if group else [])]
            raise ValueError(
                "`data` must be rows for `columns`, `group` and options of files. "
                f"Received: a retrieval set, with {given}"
            )
        return evaluate_retrieval(model, searched)
    if isinstance(model, Index):
        raise ValueError(
            "`data` must be a retrieval set for an index. "
            f"Received: {type(data).__name__}"
        )
    run = load_run(model, "model")
    spec, rows = _read(run.spec(columns), data, group, **reading)
    scorer, labels = spec.scorer, spec.labels
    answers = spec.answer(run.scored_model(spec), rows)
    details = scorer.details(rows, answers, labels)
    # Simple models that learn nothing but how frequent words are.
    simple = spec.baselines(rows, rows) if spec.fine_tuning.untrained_baselines else {}
    return {
        "rows": len(rows),
        "scores": scorer.combine(details),
        "intervals": intervals(scorer, details),
        "baselines": simple,
        **scorer.mistakes(rows, answers, labels),
        **_of_groups(scorer, details, rows, group),
    }


def _of_groups(
    scorer: Scorer, details: Details, rows: Rows, group: str | None
) -> dict[str, Any]:
    if group is None:
        return {}
    return {"groups": scorer.by_group(details, [row[GROUP] for row in rows])}


def on_rows(
    data: Any,
    preprocessor: Preprocessor | None = None,
    columns: Mapping[str, str | None] | None = None,
    **options: Any,
) -> Score:
    """Returns what scores a model on rows, for `EvaluationCallback`.

    Args:
        data: Rows, as for `evaluate`. They are read once and held in memory.
        preprocessor: Converts strings to the model's inputs; `None` if the model takes
            strings.
        columns: See `finetune`.
        **options: Options of `with_text`, for a model on ids.

    Returns:
        A function from a model to the `scores` of `evaluate`.

    Raises:
        ValueError: When called, as `evaluate`; or if the model does not take strings
            and there is no preprocessor.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"], pooling="mean")
    >>> rows = [{"text": "a lovely day", "label": "good"}]
    >>> score = kbl.evaluation.on_rows(rows, preprocessor)
    >>> callback = kbl.evaluation.EvaluationCallback(score)
    """

    @functools.lru_cache(maxsize=1)
    def prepared(model: keras.Model) -> tuple[Spec, Rows, TextModel]:
        task = scorable_task(model)
        if isinstance(model, TextModel):
            run = load_run(model, "model")
            spec, rows = _read(run.spec(columns), data)
            return spec, rows, run.scored_model(spec)
        if preprocessor is None:
            raise ValueError(
                "`preprocessor` must be given if the model does not take strings. "
                "Received: None"
            )
        spec = Spec(task, named_columns(task, columns), labels_of(model, task))
        spec, rows = _read(spec, data)
        run = SavedRun(with_text(model, preprocessor, **options), {})
        return spec, rows, run.scored_model(spec)

    def score(model: keras.Model) -> dict[str, float]:
        spec, rows, scored = prepared(model)
        return spec.scorer.scores(rows, spec.answer(scored, rows), spec.labels)

    return score


def _read(
    spec: Spec, data: Any, group: str | None = None, **reading: Unpack[Reading]
) -> tuple[Spec, Rows]:
    """Reads the rows to score; `spec` gets the columns that they have."""
    rows, known = read_rows(data, spec.format, spec.columns, "data", group, **reading)
    if spec.scorer.needs_known_labels:
        check_labels(rows, spec.format, spec.labels, "data")
    return spec.of_rows(known), rows
