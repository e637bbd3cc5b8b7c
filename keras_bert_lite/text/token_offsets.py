"""Tokens with their positions in a text."""

from __future__ import annotations

from typing import NamedTuple

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.ragged import rows_of
from keras_bert_lite.text.strings import slices, valid_utf8

_IN_WORD = r"[\p{L}\p{M}\p{N}_]"


class LocatedTokens(NamedTuple):
    """The T tokens of B texts. Offsets count code points; ends are exclusive."""

    text: tf.Tensor  # (B,) strings, valid UTF-8
    ids: tf.RaggedTensor  # (B, None) int32
    starts: tf.Tensor  # (T,) int32
    ends: tf.Tensor  # (T,) int32

    @property
    def rows(self) -> tf.Tensor:
        """(T,) int64: the text of each token."""
        return rows_of(self.ids.row_splits)


def locate(tokenizer: Tokenizer, text: tf.Tensor) -> LocatedTokens:
    """Tokenizes texts of shape (B,) and keeps the position of each token."""
    return _located(tokenizer, valid_utf8(text))


def _located(tokenizer: Tokenizer, text: tf.Tensor) -> LocatedTokens:
    tokens, starts, ends = tokenizer.spans_of(text)
    ids = tf.RaggedTensor.from_row_splits(tokens.ids, tokens.row_splits, validate=False)
    return LocatedTokens(text, ids, starts, ends)


def word_begins(tokenizer: Tokenizer, tokens: LocatedTokens) -> tf.Tensor:
    """Returns which tokens begin a word, (T,) bool.

    A WordPiece word ends where no `##` piece follows. Other tokenizers have no such
    mark for punctuation. There a word is a run of letters, digits, marks and
    underscores, or a piece of anything else. A piece that begins inside the one
    before it, such as a later byte of a character, does not begin a word.
    """
    seen = tokens.ends > tokens.starts
    continues = tokenizer.continues_word(tokens.ids.values)
    if continues is None:
        continues = tf.reduce_all(
            _in_word(tokens, tf.stack([tokens.starts, tokens.starts - 1])), axis=0
        )
        continues = tf.logical_or(continues, _begins_inside(tokens))
    return tf.logical_and(seen, tf.logical_not(continues))


def locate_words(
    tokenizer: Tokenizer, words: tf.Tensor
) -> tuple[LocatedTokens, tf.Tensor]:
    """Tokenizes words of shape (B, W), joined by spaces.

    Returns:
        The tokens of the B joined texts and, (T,) int64, the index of each
        token's word in its row, 0 to W - 1.
    """
    shape = tf.shape(words)
    words = tf.reshape(valid_utf8(tf.reshape(words, [-1])), shape)
    text = tf.strings.reduce_join(words, 1, separator=" ")
    tokens = _located(tokenizer, text)
    lengths = tf.strings.length(words, unit="UTF8_CHAR") + 1  # with the space
    starts = tf.cumsum(tf.reshape(lengths, [-1]), exclusive=True)
    row_starts = tf.cumsum(tf.reduce_sum(lengths, 1), exclusive=True)
    # The last character belongs to the word; the first may be a space.
    last = tf.maximum(tokens.ends - 1, tokens.starts)
    last_byte = tf.gather(row_starts, tokens.rows) + last
    word = tf.searchsorted(starts, last_byte, side="right") - 1
    return tokens, tf.cast(word, tf.int64) - tokens.rows * tf.cast(shape[1], tf.int64)


def firsts_of(rows: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
    """Returns which tokens, (T,) bool, are the first of their word."""
    before = tf.concat([[-1], words[:-1]], 0)
    row_before = tf.concat([[-1], rows[:-1]], 0)
    return tf.logical_or(tf.not_equal(words, before), tf.not_equal(rows, row_before))


def _begins_inside(tokens: LocatedTokens) -> tf.Tensor:
    """Returns which tokens, (T,) bool, begin before the previous one ends."""
    rows = tokens.rows
    row_before = tf.concat([[-1], rows[:-1]], 0)
    end_before = tf.concat([[0], tokens.ends[:-1]], 0)
    return tf.logical_and(tf.equal(rows, row_before), tokens.starts < end_before)


def _in_word(tokens: LocatedTokens, columns: tf.Tensor) -> tf.Tensor:
    """Returns whether characters at positions (K, T) of the texts are in words."""
    lengths = tf.strings.length(tokens.text, unit="UTF8_CHAR")
    inside = tf.logical_and(columns >= 0, columns < tf.gather(lengths, tokens.rows))
    begins = tf.where(inside, columns, 0)
    ends = begins + tf.cast(inside, tf.int32)
    rows = tf.broadcast_to(tokens.rows, tf.shape(columns, tf.int64))
    flat = (tf.reshape(x, [-1]) for x in (rows, begins, ends))
    characters = slices(tokens.text, *flat)  # in one call, as it decodes the texts
    found = tf.strings.regex_full_match(characters, _IN_WORD)
    return tf.reshape(found, tf.shape(columns))
