"""Cuts normalized characters into the words that the unigram kernel reads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.added_tokens import replace_tokens
from keras_bert_lite.text.normalization import steps as steps_of
from keras_bert_lite.text.normalization.characters import (
    Characters,
    before,
    behind,
    read_characters,
    write_characters,
)
from keras_bert_lite.text.normalization.steps import METASPACE
from keras_bert_lite.text.ragged import repeated_places
from keras_bert_lite.text.unicode.lookup import CodePointSet, CodePointTable

_PRIVATE_USE = range(0x100000, 0x10FFFE)
_METASPACE = ord(METASPACE)


class StandIns:
    """Private-use characters that are in no piece, each with a meaning.

    Args:
        tokens: Tokens to recognize in the text.
        taken: Characters that cannot be stand-ins.
    """

    def __init__(self, tokens: Sequence[str], taken: Iterable[str]) -> None:
        reserved = {ord(x) for x in taken}
        free = itertools.filterfalse(reserved.__contains__, _PRIVATE_USE)
        # A metaspace that is a word; characters in no piece; `` or ''; padding to
        # the length of a token; private-use characters of the text itself.
        names = [chr(next(free)) for _ in range(5 + len(tokens))]
        self.alone, self.unknown, self.quote, self.filler, self.spare = names[:5]
        self.of_token = dict(zip(tokens, names[5:], strict=True))
        self.pattern = f"[{names[0]}{''.join(names[1:])}]"

    def mark(self, strings: tf.Tensor) -> tf.Tensor:
        """Replaces tokens of several characters by stand-ins of the same length."""
        strings = tf.strings.regex_replace(strings, self.pattern, self.spare)
        return replace_tokens(
            strings,
            {
                token: stand_in + self.filler * (len(token) - 1)
                for token, stand_in in self.of_token.items()
                if len(token) > 1
            },
        )


class Words:
    """Cuts characters into words.

    Args:
        stand_ins: The stand-ins of recognized tokens.
        known: The characters in pieces.
        split_white_space: Whether any white space separates words; otherwise
            each space begins the word after it.
        split_punctuation: Whether each punctuation mark is a word of its own.
    """

    def __init__(
        self,
        stand_ins: StandIns,
        known: Iterable[str],
        split_white_space: bool,
        split_punctuation: bool,
    ) -> None:
        self._stand_ins = stand_ins
        self._split_white_space = split_white_space
        self._split_punctuation = split_punctuation
        tokens = stand_ins.of_token
        single = {ord(x): ord(y) for x, y in tokens.items() if len(x) == 1}
        self._single = CodePointTable(single)
        self._lengths = CodePointTable({ord(y): len(x) for x, y in tokens.items()})
        self._known = CodePointSet(
            {ord(x) for x in (*known, *stand_ins.of_token.values())}
        )
        self._white_space = CodePointSet(steps_of.WHITE_SPACE)
        self._punctuation = CodePointSet(steps_of.PUNCTUATION)

    def read(self, strings: tf.Tensor) -> Characters:
        """Decodes valid UTF-8, each recognized token as one character."""
        text = read_characters(self._stand_ins.mark(strings))
        stand_in = self._single(text.code_points)
        points = tf.where(stand_in > 0, stand_in, text.code_points)
        length = self._lengths(points)
        borders = self._borders(text.rows, length > 0)
        text = text._replace(
            code_points=points,
            ends=text.starts + tf.maximum(length, 1),
            segments=tf.cumsum(borders),
        )
        return text.keep(tf.not_equal(points, ord(self._stand_ins.filler)))

    def _borders(self, rows: tf.Tensor, token: tf.Tensor) -> tf.Tensor:
        new_row = tf.not_equal(rows, before(rows))
        border = tf.logical_or(tf.logical_or(token, before(token)), new_row)
        return tf.cast(border, tf.int32)

    def is_token(self, text: Characters) -> tf.Tensor:
        return self._lengths(text.code_points) > 0

    def cut(self, text: Characters) -> Characters:
        """Returns the characters of words, each of which begins with a metaspace
        or a token's stand-in."""
        if self._split_white_space:
            spaces = self._white_space(text.code_points)
            begins = tf.logical_not(tf.logical_and(text.continues, ~before(spaces)))
            keep = tf.logical_not(spaces)
        else:
            text = text.replace(tf.equal(text.code_points, ord(" ")), _METASPACE)
            begins = tf.logical_not(text.continues)
            keep = tf.ones_like(begins)
        if self._split_punctuation:
            mark = self._punctuation(text.code_points)
            begins = begins | mark | before(mark)
        plain = tf.not_equal(text.code_points, _METASPACE) & ~self.is_token(text)
        counts = tf.where(keep, tf.where(begins & plain, 2, 1), 0)
        index = tf.cast(repeated_places(counts), tf.int32)
        last = tf.gather(tf.cumsum(counts), index) - 1
        prefix = tf.range(tf.size(index)) < last
        return text.take(index).replace(prefix, _METASPACE)

    def write(self, words: Characters, count: tf.Tensor) -> tf.Tensor:
        """Returns `count` strings for the kernel, which writes a metaspace at the
        start of each string and for each space."""
        points = words.code_points
        token = self.is_token(words)
        metaspace = tf.equal(points, _METASPACE)
        begins = token | metaspace | tf.not_equal(words.rows, before(words.rows))
        ends = behind(begins) | tf.not_equal(words.rows, behind(words.rows))
        at = tf.range(tf.size(points))
        alone = metaspace & (ends | tf.equal(at, tf.size(points) - 1))
        known = tf.where(self._known(points), points, ord(self._stand_ins.unknown))
        seconds = tf.where(alone, ord(self._stand_ins.alone), known)
        counts = tf.where(alone | token, 2, 1)
        index = tf.cast(repeated_places(counts), tf.int32)
        last = tf.gather(tf.cumsum(counts), index) - 1
        inner = tf.equal(tf.range(tf.size(index)), last) & tf.gather(
            alone | ~metaspace, index
        )
        written = tf.where(inner, tf.gather(seconds, index), ord(" "))
        written_words = words.take(index)._replace(code_points=written)
        return write_characters(written_words, count)
