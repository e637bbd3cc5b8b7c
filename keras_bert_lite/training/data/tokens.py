"""Data sets for token classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.tagging import has_scheme, parse_tags
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.token_offsets import firsts_of, locate_words
from keras_bert_lite.training.data import record_values
from keras_bert_lite.training.data.batches import WindowBatching
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.window_datasets import Rows, window_batches


def token_dataset(
    source: Any,
    preprocessor: Preprocessor,
    labels: Sequence[str],
    words: str = "words",
    tags: str = "tags",
    pieces: str = "first",
    **batching: Unpack[WindowBatching],
) -> tf.data.Dataset:
    """Makes batches for training a `token_classifier`.

    A sentence too long for one row is cut into windows. Each window is a row. A token
    is a target only in the window that gives it the most context (BERT's max-context
    rule).

    Args:
        source: Records in the format of `read_conll`.
        preprocessor: Its `sequence_length` is the length of a window, and its
            `stride` the number of tokens that adjacent windows share (`None`: 128).
        labels: The names of the labels, in the same order as in the model.
        words, tags: The columns, lists of the same length; tags are names of labels
            or indices, as in `text_dataset`.
        pieces: Which pieces of a word are targets. `"first"`: the first one has the
            word's label, the others have weight 0. `"all"`: after a first piece
            `B-X` the others are `I-X`; otherwise they have the label of the first.
            This is for labels without `E` and `S`.
        **batching: `batch_size`, `shuffle`, `seed`, `drop_remainder`, `check`:
            see `window_batches`.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, weights)`; targets are indices,
        int32 `(B, S)`, weights float32 `(B, S)`: 0 where there is no target.

    Raises:
        ValueError: If a record lacks a column, has no words, does not have one tag
            per word, or has a tag that is not one of `labels`.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> row = {"words": ["Anna", "sings"], "tags": ["B-PER", "O"]}
    >>> data = kbl.token_dataset([row], preprocessor, ["O", "B-PER", "I-PER"])
    >>> len(list(data))
    1
    """
    tagged = TaggedWords(preprocessor, labels, words, tags, pieces)

    def cut(rows: Rows) -> tuple[Rows, Rows]:
        return tagged.cut(rows)[:2]

    return window_batches(source, tagged.row, cut, _finish, preprocessor, **batching)


class TaggedWords:
    """Reads words and tags from records and cuts them into windows.

    Args:
        preprocessor, labels, words, tags, pieces: See `token_dataset`.
    """

    def __init__(
        self,
        preprocessor: Preprocessor,
        labels: Sequence[str],
        words: str = "words",
        tags: str = "tags",
        pieces: str = "first",
    ) -> None:
        check_choice("pieces", pieces, ("first", "all"))
        self._preprocessor = preprocessor
        self._words, self._tags, self._pieces = words, tags, pieces
        names = check_labels(labels)
        self._convert = record_values.index_in(names)
        self._continuations = tf.constant(_continuations(names, pieces))

    def row(self, record: Record) -> dict[str, np.ndarray]:
        """Returns `words` and `tags` of a record, each joined to one string."""
        found = _words(record, self._words)
        given = record_values.value_of(record, self._tags, "tags")
        if not isinstance(given, list) or len(given) != len(found):
            raise ValueError(
                f"`tags` must be a list of {len(found)}, one for each word. "
                f"Received: {given!r:.200}"
                + (f" ({len(given)} tags)" if isinstance(given, list) else "")
            )
        indices = [
            record_values.target_of(
                {self._tags: tag}, self._tags, self._convert, "tags"
            )
            for tag in given
        ]
        joined = {self._words: record_values.SEPARATOR.join(found)}
        return {
            "words": record_values.text_of(joined, self._words, "words"),
            "tags": np.array(
                record_values.SEPARATOR.join(map(str, indices)).encode(), object
            ),
        }

    def cut(self, rows: Rows) -> tuple[Rows, Rows, tf.Tensor]:
        """Returns ids, `tags` and `weights` of N windows, and their rows `(N,)`."""
        words = tf.strings.split(rows["words"], record_values.SEPARATOR).to_tensor("")
        tags = tf.strings.split(rows["tags"], record_values.SEPARATOR)
        tags = tf.strings.to_number(tags, tf.int32).to_tensor()
        tokens, numbers = locate_words(self._preprocessor.tokenizer, words)
        windows, columns, ids = self._preprocessor.windows([tokens.ids])
        first = firsts_of(tokens.rows, numbers)  # (T,)
        label = tf.gather_nd(tags, tf.stack([tokens.rows, numbers], 1))
        label = tf.where(first, label, tf.gather(self._continuations, label))
        counts = windows.has_most_context()  # (M,)
        if self._pieces == "first":
            counts = tf.logical_and(counts, tf.gather(first, windows.tokens))
        position = tf.stack([windows.windows, columns], 1)
        shape = tf.shape(ids["token_ids"], tf.int64)
        label = tf.where(counts, tf.gather(label, windows.tokens), 0)
        targets = {
            "tags": tf.scatter_nd(position, label, shape),
            "weights": tf.scatter_nd(position, tf.cast(counts, tf.float32), shape),
        }
        return ids, targets, windows.rows


def _finish(ids: Rows, targets: Rows) -> tuple[Rows, tf.Tensor, tf.Tensor]:
    return ids, targets["tags"], targets["weights"]


def _words(record: Record, column: str) -> list[str]:
    found = record_values.value_of(record, column, "words")
    valid = isinstance(found, list) and all(isinstance(x, str) for x in found)
    if not valid or not found or any(record_values.SEPARATOR in word for word in found):
        raise ValueError(
            "`words` must be a list of one string or more, without U+001F. "
            f"Received: {found!r:.200}"
        )
    return found


def _continuations(labels: list[str], pieces: str) -> list[int]:
    """Returns the label of later pieces of a word for each label of its first."""
    spelled = has_scheme(labels)
    if pieces == "first" or not spelled:
        return list(range(len(labels)))
    tags = parse_tags(labels)
    if any(tag.prefix in "ES" for tag in tags):
        raise ValueError(
            '`pieces="all"` needs labels without `E` and `S`, which fit only a last '
            f"piece; convert tags with `tagging.to_bio`. Received: {labels}"
        )
    positions = {(tag.prefix, tag.type): i for i, tag in enumerate(tags)}
    return [
        positions.get(("I", tag.type), i) if tag.prefix == "B" else i
        for i, tag in enumerate(tags)
    ]
