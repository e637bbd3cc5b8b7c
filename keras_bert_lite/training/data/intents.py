"""Data sets for intent classification and slot filling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data import record_values
from keras_bert_lite.training.data.batches import WindowBatching
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.tokens import TaggedWords
from keras_bert_lite.training.data.window_datasets import Rows, window_batches

# The outputs that the targets are of.
INTENT = "intent_logits"
SLOTS = "slot_logits"


def intent_and_slot_dataset(
    source: Any,
    preprocessor: Preprocessor,
    intents: Sequence[str],
    slots: Sequence[str],
    intent: str = "intent",
    words: str = "words",
    tags: str = "tags",
    **batching: Unpack[WindowBatching],
) -> tf.data.Dataset:
    """Makes batches for training an `intent_and_slot_classifier`.

    A text too long for one row is cut into windows. Each window is a row with the
    intent of the text.

    Args:
        source: Records with the intent, the words and the tags of a text.
        preprocessor: See `token_dataset`.
        intents, slots: The names of the labels, in the same order as in the model.
        intent, words, tags: The columns. An intent is a name or an index, as in
            `text_dataset`; words and tags are lists of the same length.
        **batching: See `token_dataset`.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, weights)`, the latter two by
        output: `intent_logits`, `(B,)`, and `slot_logits`, `(B, S)`, where the
        weight is 1 at the first piece of each word and 0 elsewhere.

    Raises:
        ValueError: As `token_dataset`, or if an intent is not one of `intents`.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> row = {"intent": "play", "words": ["Play", "jazz"], "tags": ["O", "B-genre"]}
    >>> data = kbl.intent_and_slot_dataset(
    ...     [row], preprocessor, ["play", "stop"], ["O", "B-genre", "I-genre"]
    ... )
    >>> len(list(data))
    1
    """
    tagged = TaggedWords(preprocessor, slots, words, tags)
    convert = record_values.index_in(check_labels(intents, argument="intents"))

    def row(record: Record) -> dict[str, np.ndarray]:
        index = record_values.target_of(record, intent, convert, "intent")
        return {**tagged.row(record), "intent": np.asarray(index, np.int32)}

    def cut(rows: Rows) -> tuple[Rows, Rows]:
        ids, targets, texts = tagged.cut(rows)
        return ids, {**targets, "intent": tf.gather(rows["intent"], texts)}

    return window_batches(source, row, cut, _finish, preprocessor, **batching)


def _finish(ids: Rows, targets: Rows) -> tuple[Rows, Rows, Rows]:
    return (
        ids,
        {INTENT: targets["intent"], SLOTS: targets["tags"]},
        {
            INTENT: tf.ones_like(targets["intent"], tf.float32),
            SLOTS: targets["weights"],
        },
    )
