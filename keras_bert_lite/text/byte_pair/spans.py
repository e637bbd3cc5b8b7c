"""Spans of byte-level tokens in characters of the original strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.byte_offsets import Tokens
from keras_bert_lite.text.byte_pair.byte_level import CHARACTERS
from keras_bert_lite.text.normalization.characters import Characters
from keras_bert_lite.text.ragged import rows_of


def byte_tokens(
    ids: tf.Tensor, row_splits: tf.Tensor, lengths: tf.Tensor, source: tf.Tensor
) -> Tokens:
    """Returns tokens with spans in bytes; they cover the text without gaps."""
    ends = tf.cumsum(tf.cast(lengths, tf.int64))
    rows = rows_of(row_splits)
    sizes = tf.cast(tf.strings.length(source), tf.int64)
    shift = tf.gather(tf.cumsum(sizes, exclusive=True), rows)
    starts = ends - tf.cast(lengths, tf.int64)
    return Tokens(ids, row_splits, starts - shift, ends - shift)


def character_spans(tokens: Tokens, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the span of characters that each token has bytes of.

    Args:
        tokens: Tokens with spans in bytes.
        source: (B,) the strings of the tokens.

    Returns:
        `(starts, ends)`, both (T,) int32; `ends` is exclusive.
    """
    everything = tf.io.decode_raw(tf.strings.reduce_join(source), tf.uint8)
    inside = tf.equal(tf.bitwise.bitwise_and(everything, 0xC0), 0x80)
    begun = tf.cumsum(1 - tf.cast(inside, tf.int32))
    before = tf.concat([[0], begun], 0)  # characters begun before each byte
    inside = tf.cast(tf.concat([inside, [False]], 0), tf.int32)
    sizes = tf.cast(tf.strings.length(source), tf.int64)
    shift = tf.gather(tf.cumsum(sizes, exclusive=True), tokens.rows)
    first = tf.gather(before, shift)
    starts = tokens.starts + shift
    starts = tf.gather(before, starts) - tf.gather(inside, starts)
    # A token that is only the added space gets the span of the next character.
    ends = tf.maximum(tf.gather(before, tokens.ends + shift), starts + 1)
    return starts - first, ends - first


class Origins(NamedTuple):
    """Where each character of B normalized strings is from."""

    starts: tf.RaggedTensor  # (B, None) int32, in characters of the original
    ends: tf.RaggedTensor  # (B, None) int32, exclusive

    @classmethod
    def of(cls, text: Characters, count: tf.Tensor) -> Origins:
        """Returns the origins of the characters of `count` strings."""
        return cls(
            *(
                tf.RaggedTensor.from_value_rowids(x, text.rows, count, validate=False)
                for x in (text.starts, text.ends)
            )
        )

    def original(
        self, tokens: Tokens, starts: tf.Tensor, ends: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the spans in the original of spans (T,) in the normalized strings."""
        shift = tf.cast(tf.gather(self.starts.row_starts(), tokens.rows), tf.int32)
        return (
            tf.gather(self.starts.values, starts + shift),
            tf.gather(self.ends.values, ends - 1 + shift),
        )


class Trimmer:
    """Removes the white space at a token's ends from its span.

    Args:
        pieces: The pieces in the order of their ids.
        add_prefix_space: Whether the first space may be an added one.

    Reference: `process_offsets` in Hugging Face tokenizers' `byte_level.rs`.
    """

    def __init__(self, pieces: Sequence[str], add_prefix_space: bool) -> None:
        leading = [_spaces(piece) for piece in pieces]
        trailing = [_spaces(piece[::-1]) for piece in pieces]
        self._leading = tf.constant(leading, tf.int32)
        self._trailing = tf.constant(trailing, tf.int32)
        self._add_prefix_space = add_prefix_space

    def trim(
        self, tokens: Tokens, taken: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns trimmed spans; `taken` is that of `Pieces`."""
        leading = tf.gather(self._leading, tokens.ids) + taken[:, 0]
        trailing = tf.gather(self._trailing, tokens.ids) + taken[:, 1]
        if self._add_prefix_space:
            position = tf.range(tf.size(tokens.rows, tf.int64))
            firsts = tf.equal(tf.gather(tokens.row_splits, tokens.rows), position)
            added = tf.logical_and(tf.logical_or(firsts, starts == 0), leading == 1)
            leading = tf.where(added, 0, leading)
        starts = tf.minimum(starts + leading, ends)
        fits = ends >= trailing
        return starts, tf.where(fits, tf.maximum(ends - trailing, starts), ends)


def _spaces(piece: str) -> int:
    space = CHARACTERS[0x20]
    return next(
        (i for i, x in enumerate(piece) if x != space and not x.isspace()), len(piece)
    )
