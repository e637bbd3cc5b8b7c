"""Data sets for extractive question answering."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.token_offsets import locate
from keras_bert_lite.training.data import record_values
from keras_bert_lite.training.data.batches import WindowBatching
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.window_datasets import Rows, window_batches


def question_dataset(
    source: Any,
    preprocessor: Preprocessor,
    question: str = "question",
    context: str = "context",
    answers: str = "answers",
    **batching: Unpack[WindowBatching],
) -> tf.data.Dataset:
    """Makes batches for training a `question_answerer`.

    A context too long for one row is cut into windows. Each window is a row. Its
    target is its first token if it does not contain the whole answer, if there is
    no answer, or if the answer has no tokens.

    Args:
        source: Records in the format of `read_squad` or of SQuAD in Hugging Face
            datasets.
        preprocessor: Its `sequence_length` is the length of a window, and its
            `stride` the number of tokens that adjacent windows share (`None`: 128).
        question, context, answers: The columns. `answers` holds a dictionary with
            the lists `text` and `answer_start`. Their first elements are used; empty
            lists mean that there is no answer.
        **batching: `batch_size`, `shuffle`, `seed`, `drop_remainder`, `check`:
            see `window_batches`.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets)`; targets are the indices
        `start_logits` and `end_logits`, int32 `(B,)`.

    Raises:
        ValueError: If a record lacks a column, or its answer is not at
            `answer_start` in the context.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> answers = {"text": ["in May"], "answer_start": [9]}
    >>> row = {"question": "When?", "context": "It rains in May.", "answers": answers}
    >>> data = kbl.question_dataset([row], preprocessor)
    >>> len(list(data))
    1

    Reference: `convert_examples_to_features` in google-research/bert, run_squad.py.
    """

    def row(record: Record) -> dict[str, np.ndarray]:
        text = record_values.text_of(record, context, "context")
        begin, end = answer_span(record, context, answers)
        return {
            "question": record_values.text_of(record, question, "question"),
            "context": text,
            "begin": np.array(begin, np.int32),
            "end": np.array(end, np.int32),
        }

    def cut(rows: Rows) -> tuple[Rows, Rows]:
        return _windows(preprocessor, rows)

    return window_batches(source, row, cut, _finish, preprocessor, **batching)


def _finish(ids: Rows, targets: Rows) -> tuple[Rows, Rows]:
    return ids, targets


def answer_span(record: Record, context: str, answers: str) -> tuple[int, int]:
    """Returns where the answer begins and ends, or -1 and -1 without an answer."""
    text = record_values.value_of(record, context, "context")
    given = record_values.value_of(record, answers, "answers")
    if not _are_lists(given):
        raise ValueError(
            "`answers` must be a dictionary of the lists `text` and `answer_start`, "
            "of the same length. "
            f"Received: {given!r:.200}"
        )
    if not given["text"]:
        return -1, -1
    answer, begin = given["text"][0], given["answer_start"][0]
    found = text[begin : begin + len(answer)] if begin >= 0 else ""
    if not answer or found != answer:
        raise ValueError(
            "`answers` must be at their `answer_start` in the context. "
            f"Received: {answer!r} at {begin}, where the context has {found!r}"
        )
    return begin, begin + len(answer)


def _are_lists(given: Any) -> bool:
    """Whether answers are lists of texts and start indices of the same length."""
    if not isinstance(given, dict) or not {"text", "answer_start"} <= set(given):
        return False
    texts, begins = given["text"], given["answer_start"]
    if not isinstance(texts, list) or not isinstance(begins, list):
        return False
    pairs = zip(texts, begins, strict=False)
    kinds = all(isinstance(x, str) and isinstance(i, int) for x, i in pairs)
    return kinds and len(texts) == len(begins)


def _windows(preprocessor: Preprocessor, x: Rows) -> tuple[Rows, Rows]:
    tokens = locate(preprocessor.tokenizer, x["context"])
    question = preprocessor.tokenizer(x["question"])
    windows, columns, ids = preprocessor.windows([question, tokens.ids])
    rows = tokens.rows
    inside = tf.logical_and(
        tokens.ends > tf.maximum(tf.gather(x["begin"], rows), 0),
        tokens.starts < tf.gather(x["end"], rows),
    )
    number, position = tf.size(x["begin"]), tf.range(tf.size(rows, tf.int64))
    first = tf.where(inside, position, tf.int64.max)
    first = tf.math.unsorted_segment_min(first, rows, number)
    last = tf.math.unsorted_segment_max(tf.where(inside, position, -1), rows, number)

    def column_of(token: tf.Tensor) -> tf.Tensor:
        """Returns the columns of a row's token in its windows, or 0: (N,)."""
        here = tf.equal(windows.tokens, tf.gather(token, windows.text_of_tokens))
        held = tf.where(here, columns, 0)
        size = tf.size(windows.lengths)
        held = tf.math.unsorted_segment_max(held, windows.windows, size)
        return tf.cast(tf.maximum(held, 0), tf.int32)

    start, end = column_of(first), column_of(last)
    whole = tf.logical_and(start > 0, end > 0)
    return ids, {
        "start_logits": tf.where(whole, start, 0),
        "end_logits": tf.where(whole, end, 0),
    }
