"""Truncation of rows of tokens."""

from __future__ import annotations

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.ragged import rows_of


def truncate_longest_first(
    segments: list[tf.RaggedTensor], room: tf.Tensor
) -> list[tf.RaggedTensor]:
    """Truncates rows to `room` tokens, shortening the longer segment first.

    If both must shrink, they end up equal. An odd token goes to the one that was
    longer (the second if they were equal), as in Hugging Face tokenizers'
    `truncate_encodings`.
    """
    if len(segments) == 1:
        return [head(segments[0], room)]
    first, second = (segment.row_lengths() for segment in segments)
    half = room // 2
    rest = room - half
    longer_first = first > second
    first_room = tf.where(longer_first, rest, half)
    second_room = room - first_room
    # Each segment may use the room that the other leaves.
    return [
        head(segments[0], tf.maximum(first_room, room - second)),
        head(segments[1], tf.maximum(second_room, room - first)),
    ]


def head(rows: tf.RaggedTensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """Keeps the first `lengths` of each row."""
    kept = tf.minimum(rows.row_lengths(), lengths)
    owner = rows_of(rows.row_splits)
    position = tf.range(tf.size(owner, tf.int64)) - tf.gather(rows.row_starts(), owner)
    values = tf.boolean_mask(rows.values, position < tf.gather(kept, owner))
    return tf.RaggedTensor.from_row_lengths(values, kept, validate=False)
