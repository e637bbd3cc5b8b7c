"""Data sets for tasks with one target per row of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.text.preprocessor import Preprocessor
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
        **batching: `batch_size`, `shuffle`, `seed`, `drop_remainder`,
            `group_by_length`, `check`: see `batches`.

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

    def row(record: Record) -> dict[str, np.ndarray]:
        texts = {"text": record_values.text_of(record, text, "text")}
        if text_pair is not None:
            texts["text_pair"] = record_values.text_of(record, text_pair, "text_pair")
        answer = _answer(record, label, convert, weight)
        if label is None and not isinstance(text, str):
            answer["target"] = np.zeros([], np.float32)
        return {**texts, **answer}

    return _batches(source, row, preprocessor, batching)


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
) -> tf.data.Dataset:
    def finish(batch: dict[str, tf.Tensor]) -> tuple[Any, tf.Tensor]:
        texts = {name: batch[name] for name in ("text", "text_pair") if name in batch}
        segments, shape = preprocessor.segments(texts)
        rows = preprocessor.rows(segments, shape)
        inputs = {k: _sized(x, batch["text"]) for k, x in rows.items()}
        answers = [batch[name] for name in ("target", "weight") if name in batch]
        element = (inputs, *answers) if answers else inputs
        return element, preprocessor.truncates(segments)

    data = batches(source, row, finish, **options)
    return with_warning(data, preprocessor.sequence_length)


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
