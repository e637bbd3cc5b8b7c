"""Maps bytes of normalized text to words and characters of the original."""

from __future__ import annotations

from typing import NamedTuple

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.ragged import rows_of

# A one-byte character that cleaning deletes. It pads the stand-in of a longer
# special token, so that byte positions are kept.
FILLER = 0x7F


class Tokens(NamedTuple):
    """The T tokens of a flat batch of B strings."""

    ids: tf.Tensor  # (T,) int32
    row_splits: tf.Tensor  # (B + 1,) int64
    starts: tf.Tensor  # (T,) int64, in bytes of the normalized string
    ends: tf.Tensor  # (T,) int64, exclusive

    @property
    def rows(self) -> tf.Tensor:
        """(T,) int64: the string that each token belongs to."""
        return rows_of(self.row_splits)


class Words(NamedTuple):
    """The W words that tokens belong to."""

    starts: tf.Tensor  # (W,) int64, in bytes of the normalized string
    ends: tf.Tensor  # (W,) int64, exclusive
    first_tokens: tf.Tensor  # (W,) int64

    @classmethod
    def of(cls, tokens: Tokens, continues: tf.Tensor) -> Words:
        """Finds the words; `continues` (T,) marks pieces inside a word."""
        firsts = tf.where(tf.logical_not(continues))[:, 0]
        total = tf.size(continues, out_type=tf.int64)
        lasts = tf.concat([firsts[1:], [total]], 0)[: tf.size(firsts)] - 1
        return cls(
            tf.gather(tokens.starts, firsts), tf.gather(tokens.ends, lasts), firsts
        )

    def count_code_points(self, normalized: tf.Tensor, tokens: Tokens) -> tf.Tensor:
        """(W,) int64: the number of characters of each word."""
        leads, string_starts = _lead_bytes(normalized)
        shift = tf.gather(string_starts, tf.gather(tokens.rows, self.first_tokens))
        before = _count_before(leads)
        return tf.gather(before, self.ends + shift) - tf.gather(
            before, self.starts + shift
        )


def original_spans(
    tokens: Tokens,
    origins: tf.RaggedTensor,
    marked: tf.Tensor,
    source: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Maps token spans back to code points of the original strings.

    Args:
        tokens: Tokens with spans in bytes of the normalized strings.
        origins: For each byte of each normalized string, the byte of `marked`
            that it came from.
        marked: (B,) strings that were normalized: `source` with stand-ins of the
            same length in bytes.
        source: (B,) original strings.

    Returns:
        `(starts, ends)`, both (T,) int32; `ends` is exclusive.
    """
    leads, string_starts = _lead_bytes(source)
    boundaries, _ = _lead_bytes(marked)
    if marked is not source:
        boundaries = tf.logical_and(boundaries, tf.not_equal(_bytes(marked), FILLER))
    code_points = _count_before(leads)
    shift = tf.gather(string_starts, tokens.rows)
    origin_shift = tf.gather(origins.row_splits, tokens.rows)

    def origin(position):
        origin = tf.gather(origins.flat_values, position + origin_shift)
        return tf.cast(origin, tf.int64) + shift

    first, last = origin(tokens.starts), origin(tokens.ends - 1)
    # The end is where the character after the last one begins.
    begins = tf.concat([tf.where(boundaries)[:, 0], [tf.size(boundaries, tf.int64)]], 0)
    after = tf.gather(begins, tf.gather(_count_before(boundaries), last + 1))
    base = tf.gather(code_points, shift)
    starts = tf.gather(code_points, first) - base
    ends = tf.gather(code_points, after) - base
    return tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)


def _bytes(strings: tf.Tensor) -> tf.Tensor:
    return tf.io.decode_raw(tf.strings.reduce_join(strings), tf.uint8)


def _lead_bytes(strings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns which bytes of the concatenated strings begin a character, and
    where each string begins."""
    leads = tf.not_equal(tf.bitwise.bitwise_and(_bytes(strings), 0xC0), 0x80)
    lengths = tf.cast(tf.strings.length(strings), tf.int64)
    return leads, tf.cumsum(lengths, exclusive=True)


def _count_before(flags: tf.Tensor) -> tf.Tensor:
    return tf.concat([[0], tf.cumsum(tf.cast(flags, tf.int64))], 0)
