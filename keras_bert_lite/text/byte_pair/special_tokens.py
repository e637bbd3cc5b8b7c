"""Cuts special tokens out of text before the rest is split into pieces."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from keras_bert_lite.text.added_tokens import CUT, SPACE_RANGES
from keras_bert_lite.text.byte_pair.model import joined

_PLAIN = -1  # the id of plain text


class Segments(NamedTuple):
    """The S segments of B strings: special tokens and the text between them."""

    strings: tf.Tensor  # (S,)
    row_splits: tf.Tensor  # (B + 1,) int64
    ids: tf.Tensor  # (S,) int32: the special token's id, or -1
    eaten: tf.Tensor  # (S,) int32: leading spaces of special tokens

    @property
    def plain(self) -> tf.Tensor:
        """(S,) the strings, empty for special tokens."""
        return tf.where(tf.equal(self.ids, _PLAIN), self.strings, "")

    def with_special_tokens(
        self, ids: tf.Tensor, row_splits: tf.Tensor, lengths: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Inserts the special tokens between the tokens of the plain segments.

        Args:
            ids: (T,) int32, the tokens of `plain`.
            row_splits: (S + 1,) int64, by segment.
            lengths: (T,) int32, in bytes.

        Returns:
            `(ids, row_splits, lengths, eaten)` of all tokens, by string.
        """
        special = tf.not_equal(self.ids, _PLAIN)
        count = tf.size(ids, tf.int64)
        positions = count + tf.range(tf.size(self.ids, tf.int64))
        firsts = tf.where(special, positions, row_splits[:-1])
        sizes = row_splits[1:] - row_splits[:-1]
        counts = tf.where(special, tf.ones_like(sizes), sizes)
        tokens, splits = joined(firsts, counts, self.row_splits)

        def gathered(of_tokens, of_segments):
            return tf.gather(tf.concat([of_tokens, of_segments], 0), tokens)

        return (
            gathered(ids, self.ids),
            splits,
            gathered(lengths, tf.strings.length(self.strings)),
            gathered(tf.zeros_like(lengths), self.eaten),
        )


class SpecialTokens:
    """Finds special tokens in text.

    Args:
        ids: The special tokens with their ids.
        eats_spaces: The token that includes the white space before it, if any.
    """

    def __init__(self, ids: Mapping[str, int], eats_spaces: str | None) -> None:
        spaces = "".join(rf"\x{{{x[0]:x}}}-\x{{{x[-1]:x}}}" for x in SPACE_RANGES)
        longest_first = sorted(ids, key=len, reverse=True)
        patterns = {
            token: f"[{spaces}]*" * (token == eats_spaces) + re.escape(token)
            for token in longest_first
        }
        self._any = "|".join(patterns.values())
        self._ids = {patterns[token]: (ids[token], len(token)) for token in patterns}

    def segment(self, source: tf.Tensor) -> Segments:
        """Splits (B,) strings at their special tokens."""
        cut = tf.strings.regex_replace(source, self._any, CUT + rb"\0" + CUT)
        strings = tf.strings.split(cut, CUT)
        values, row_splits = strings.values, strings.row_splits
        ids = tf.fill([tf.size(values)], _PLAIN)
        lengths = tf.strings.length(values, "UTF8_CHAR")
        eaten = tf.zeros_like(ids)
        for pattern, (id, length) in self._ids.items():
            found = tf.strings.regex_full_match(values, pattern)
            ids = tf.where(found, id, ids)
            eaten = tf.where(found, lengths - length, eaten)
        return Segments(values, row_splits, ids, eaten)
