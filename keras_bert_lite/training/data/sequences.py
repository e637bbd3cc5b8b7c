"""Data sets for tasks with one target per row of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.text.inputs import PROMPT
from keras_bert_lite.text.preprocessor import Preprocessor, without_empty
from keras_bert_lite.training.data import record_values
from keras_bert_lite.training.data.batches import Batching, batches
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_datasets import Row
from keras_bert_lite.training.data.truncation import with_warning


def text_dataset(
    source: Any,
    preprocessor: Preprocessor,
    text: record_values.Columns = "text",
    text_pair: str | None = None,
    label: record_values.Columns | None = "label",
    labels: Sequence[str] | None = None,
    multi_label: bool = False,
    weight: str | None = None,
    prompts: Sequence[str] | None = None,
    **batching: Unpack[Batching],
) -> tf.data.Dataset:
    """Makes batches for classifiers, regressors and sentence encoders.

    Args:
        source: The records; see `records`.
        preprocessor: Tokenizes the texts of a batch.
        text: The column of the texts; several columns, such as `["anchor",
            "positive"]`, are stacked for sentence encoders, `(B, 2, S)`.
        text_pair: The column of the second texts of pairs.
        label: The column of the targets; several columns of numbers are stacked.
            `None`: there are no targets, as for `predict`. With several columns of
            texts, the targets are then zeros, as Keras needs some.
        labels: The names of the labels, in the same order as in the model, for a
            classifier; targets are names or indices. An integer that is the name of
            one label and the index of another is refused. `None`: targets are
            numbers, for a regressor.
        multi_label: Whether any number of labels may be true; targets are then
            lists of names, or lists of 0 and 1.
        weight: The column of the sample weights, numbers of at least 0.
        prompts: The names of the preprocessor's prompts that the texts of several
            columns begin with, such as `["query", "document"]`; an empty name stands
            for the default prompt.
        **batching: `batch_size`, `shuffle`, `seed`, `drop_remainder`,
            `group_by_length`, `check`: see `batches`. `distinct=True` (with
            `shuffle=True`) keeps a text from occurring twice in a batch, as losses with
            in-batch negatives need.

    Returns:
        A `tf.data.Dataset` of the preprocessor's outputs, `(inputs, targets)` or
        `(inputs, targets, weights)`. Targets are indices `(B,)`, 0 and 1
        `(B, len(labels))`, or numbers `(B, number of them)`; weights are `(B,)`.
        At the end of its first pass it warns if texts were truncated, and says how
        many.

    Raises:
        ValueError: If an argument is invalid, or a record: it lacks a column, its
            text is not a string, its label is not one of `labels`, or its number
            is not finite.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> rows = [{"text": "a lovely day", "label": "good"}]
    >>> train = kbl.text_dataset(rows, preprocessor, labels=["bad", "good"])
    >>> ids, targets = next(iter(train))
    >>> targets.numpy()
    array([1], dtype=int32)
    """
    convert = _converter(label, labels, multi_label, weight)
    if prompts is not None:
        _check_prompts(prompts, text, preprocessor)

    def row(record: Record) -> dict[str, np.ndarray]:
        texts = {"text": record_values.text_of(record, text, "text")}
        if text_pair is not None:
            texts["text_pair"] = record_values.text_of(record, text_pair, "text_pair")
        answer = _answer(record, label, convert, weight)
        if label is None and not isinstance(text, str):
            answer["target"] = np.zeros([], np.float32)
        return {**texts, **answer}

    return _batches(source, row, preprocessor, batching, prompts=prompts)


def choice_dataset(
    source: Any,
    preprocessor: Preprocessor,
    text: str = "text",
    text_pair: record_values.Columns = "choices",
    label: str | None = "label",
    weight: str | None = None,
    compare: bool = False,
    **batching: Unpack[Batching],
) -> tf.data.Dataset:
    """Makes batches for `multiple_choice` models.

    Args:
        source, preprocessor, weight, batching: See `text_dataset`.
        text: The column of the questions.
        text_pair: The column of the choices, lists of C texts with the same C in
            every record; or C columns.
        label: The column of the correct choice, an index from 0. `None`: there are
            no targets.
        compare: Whether the model was made with `compare`, so that the question has
            a row of its own, before the choices'. It must be as in the model, which
            cannot tell.

    Returns:
        As `text_dataset`; ids are `(B, C, S)`, or `(B, 1 + C, S)` with `compare`,
        targets are indices `(B,)`.

    Raises:
        ValueError: If an argument is invalid, or a record: it lacks a column, does
            not have as many choices as the first record, or its label is not the
            index of a choice.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> records = [{"text": "It rains.", "choices": ["Wet.", "Dry."], "label": 0}]
    >>> data = kbl.choice_dataset(records, preprocessor, batch_size=1)
    >>> data.element_spec[0]["token_ids"].shape.rank
    3
    """
    _check_weight(weight, label)

    def row(record: Record) -> dict[str, np.ndarray]:
        choices = record_values.choices_of(record, text_pair, "text_pair")
        question = record_values.text_of(record, text, "text")
        convert = record_values.choice_among(len(choices))
        answer = _answer(record, label, convert, weight)
        if compare:
            return {"text": np.array([question.item(), *choices], object), **answer}
        return {"text": question, "text_pair": choices, **answer}

    return _batches(source, row, preprocessor, batching)


def ranking_dataset(
    source: Any,
    preprocessor: Preprocessor,
    query: str = "query",
    candidates: str = "candidates",
    grades: str | None = "grades",
    teacher: str | None = None,
    **batching: Unpack[Batching],
) -> tf.data.Dataset:
    """Makes batches for rankers.

    Args:
        source, preprocessor, batching: See `text_dataset`.
        query: The column of the queries.
        candidates: The column of the candidates, lists of one text or more.
        grades: The column of their grades, lists of numbers from 0, such as 1 for
            relevant ones and 0 for others. `None`: there are no targets.
        teacher: The column of a teacher's scores, lists of numbers, which are then the
            targets, as `losses.MarginMSELoss` takes them.

    Returns:
        A `tf.data.Dataset` of ids, `(B, C, S)`, and targets, float32 `(B, C)`, where C
        is the length of the longest list in the batch. What fills up shorter lists has
        no real tokens and the target 0; rankers score it -inf, and their losses ignore
        it. It warns of truncated texts as `text_dataset` does.

    Raises:
        ValueError: If an argument is invalid, or a record: it lacks a column, a
            candidate is empty, or there is not one target for each.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> record = {"query": "rain", "candidates": ["wet", "dry"], "grades": [1, 0]}
    >>> data = kbl.ranking_dataset([record], preprocessor)
    >>> next(iter(data))[1].numpy()
    array([[1., 0.]], dtype=float32)
    """
    column = grades if teacher is None else teacher

    def row(record: Record) -> dict[str, np.ndarray]:
        text = record_values.text_of(record, query, "query")
        listed = record_values.value_of(record, candidates, "candidates")
        record_values.check_candidates(listed)
        lists = {"candidates": listed}
        if column is not None:
            argument = "grades" if teacher is None else "teacher"
            targets = record_values.value_of(record, column, argument)
            if teacher is None:
                record_values.check_grades(targets, listed)
            else:
                record_values.check_scores(argument, targets, listed)
            lists["target"] = [str(float(x)) for x in targets]
        joined = {
            name: np.array(record_values.SEPARATOR.join(x).encode(), object)
            for name, x in lists.items()
        }
        return {"text": text, **joined}

    def split(batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        lists = {
            name: tf.strings.split(x, record_values.SEPARATOR)
            for name, x in batch.items()
            if name != "text"
        }
        dense = {"candidates": lists["candidates"].to_tensor("")}
        if "target" in lists:
            dense["target"] = tf.strings.to_number(lists["target"]).to_tensor()
        return {**batch, **dense}

    return _batches(source, row, preprocessor, batching, split)


def _answer(
    record: Record,
    label: record_values.Columns | None,
    convert: record_values.Converter,
    weight: str | None,
) -> dict[str, np.ndarray]:
    answer = {}
    if label is not None:
        answer["target"] = record_values.target_of(record, label, convert)
    if weight is not None:
        answer["weight"] = record_values.weight_of(record, weight)
    return answer


def _batches(
    source: Any,
    row: Callable[[Record], Row],
    preprocessor: Preprocessor,
    options: Batching,
    split: Callable[[dict[str, tf.Tensor]], dict[str, tf.Tensor]] = lambda batch: batch,
    prompts: Sequence[str] | None = None,
) -> tf.data.Dataset:
    def finish(batch: dict[str, tf.Tensor]) -> tuple[Any, tf.Tensor]:
        batch = split(batch)
        names = ("text", "text_pair", "candidates")
        texts: dict[str, Any] = {name: batch[name] for name in names if name in batch}
        if prompts is not None:
            texts[PROMPT] = list(prompts)
        segments, shape = preprocessor.segments(texts)
        rows = without_empty(preprocessor.rows(segments, shape), texts)
        inputs = {k: _sized(x, batch["text"]) for k, x in rows.items()}
        answers = [batch[name] for name in ("target", "weight") if name in batch]
        element = (inputs, *answers) if answers else inputs
        return element, preprocessor.truncates(segments)

    data = batches(source, row, finish, **options)
    return with_warning(data, preprocessor.sequence_length)


def _check_prompts(
    prompts: Sequence[str], text: record_values.Columns, preprocessor: Preprocessor
) -> None:
    known = ["", *preprocessor.prompts]
    columns = 0 if isinstance(text, str) else len(text)
    if isinstance(prompts, str) or len(prompts) != columns or {*prompts} - {*known}:
        raise ValueError(
            f"`prompts` must be one of the names {known} for each of several columns "
            f"of texts. Received: {prompts!r} for {text!r}"
        )


def _sized(x: tf.Tensor, texts: tf.Tensor) -> tf.Tensor:
    """Sets the static batch size, which TPUs need, if it is known."""
    return tf.ensure_shape(x, [texts.shape[0], *x.shape[1:]])


def _converter(
    label: record_values.Columns | None,
    labels: Sequence[str] | None,
    multi_label: bool,
    weight: str | None,
) -> record_values.Converter:
    _check_weight(weight, label)
    if labels is None:
        if multi_label:
            raise ValueError("`multi_label` needs `labels`. Received: labels=None")
        return record_values.numbers
    names = check_labels(labels, at_least=1 if multi_label else 2)
    return (
        record_values.indicators(names)
        if multi_label
        else record_values.index_in(names)
    )


def _check_weight(weight: str | None, label: record_values.Columns | None) -> None:
    if weight is not None and label is None:
        raise ValueError(
            f"`weight` needs a `label`. Received: weight={weight!r}, label=None"
        )
