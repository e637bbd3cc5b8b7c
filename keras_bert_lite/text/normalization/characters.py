"""Text as arrays of characters, each with its origin."""

from __future__ import annotations

from typing import NamedTuple

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.ragged import rows_of


class Characters(NamedTuple):
    """The N characters of a flat batch of strings."""

    code_points: tf.Tensor  # (N,) int32
    starts: tf.Tensor  # (N,) int32, in characters of the original string
    ends: tf.Tensor  # (N,) int32, exclusive
    # (N,) int32, the part of a string between recognized tokens; nothing is
    # joined across its borders.
    segments: tf.Tensor
    rows: tf.Tensor  # (N,) int64

    def take(self, index: tf.Tensor) -> Characters:
        return Characters(*(tf.gather(x, index) for x in self))

    def keep(self, mask: tf.Tensor) -> Characters:
        return self.take(tf.where(mask)[:, 0])

    def replace(self, mask: tf.Tensor, code_point: int) -> Characters:
        return self._replace(code_points=tf.where(mask, code_point, self.code_points))

    @property
    def continues(self) -> tf.Tensor:
        """(N,) bool: whether the previous character is in the same segment."""
        same = tf.equal(self.segments[1:], self.segments[:-1])
        return tf.concat([tf.zeros_like(self.segments[:1], tf.bool), same], 0)


def read_characters(strings: tf.Tensor) -> Characters:
    """Decodes valid UTF-8 `(B,)`, each string as one segment."""
    decoded = tf.strings.unicode_decode(strings, "UTF-8")
    rows = rows_of(decoded.row_splits)
    positions = tf.range(tf.size(rows, tf.int64))
    starts = tf.cast(positions - tf.gather(decoded.row_starts(), rows), tf.int32)
    return Characters(decoded.values, starts, starts + 1, tf.cast(rows, tf.int32), rows)


def write_characters(text: Characters, count: tf.Tensor) -> tf.Tensor:
    """Returns the `count` strings of characters."""
    rows = tf.RaggedTensor.from_value_rowids(
        text.code_points, text.rows, count, validate=False
    )
    return tf.strings.unicode_encode(rows, "UTF-8")


def before(flags: tf.Tensor) -> tf.Tensor:
    """Returns the previous element of each, (N,); zero at the start."""
    return tf.concat([tf.zeros_like(flags[:1]), flags[:-1]], 0)


def behind(flags: tf.Tensor) -> tf.Tensor:
    """Returns the next element of each, (N,); zero at the end."""
    return tf.concat([flags[1:], tf.zeros_like(flags[:1])], 0)


def latest(flags: tf.Tensor) -> tf.Tensor:
    """(N,) int64: the last index up to each position where `flags` (N,) is true."""
    indices = tf.where(flags)[:, 0]
    return tf.gather(indices, tf.maximum(tf.cumsum(tf.cast(flags, tf.int64)) - 1, 0))


def number_of(flags: tf.Tensor) -> tf.Tensor:
    return tf.cumsum(tf.cast(flags, tf.int32)) - 1


def utf8_lengths(code_points: tf.Tensor) -> tf.Tensor:
    """(N,) int32: the number of bytes of each character."""
    longer = [code_points >= limit for limit in (0x80, 0x800, 0x10000)]
    return 1 + tf.add_n([tf.cast(x, tf.int32) for x in longer])
