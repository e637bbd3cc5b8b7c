"""Cuts added and special tokens out of text before the rest is split into pieces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.added_tokens import (
    CUT,
    CUT_PATTERN,
    SPACE_PATTERN,
    WORD_PATTERN,
    any_of,
)
from keras_bert_lite.text.byte_pair.model import joined
from keras_bert_lite.text.byte_pair.spans import Origins
from keras_bert_lite.text.normalization.characters import (
    before,
    behind,
    read_characters,
)
from keras_bert_lite.text.ragged import rows_of

_PLAIN = -1  # the id of plain text
_BUCKETS = 2**63 - 1
# Another surrogate, behind tokens as `CUT` is before them.
END, END_PATTERN = b"\xed\xa0\x81", r"\x{D801}"


class Pieces(NamedTuple):
    """The T tokens of B strings; concatenated, they are the strings."""

    ids: tf.Tensor  # (T,) int32
    row_splits: tf.Tensor  # (B + 1,) int64
    lengths: tf.Tensor  # (T,) int32, in bytes
    # (T, 2) int32: the characters of white space that a found token has taken in
    # before and behind it.
    taken: tf.Tensor


class Segments(NamedTuple):
    """The S segments of B strings: found tokens and the text between them."""

    strings: tf.Tensor  # (S,)
    row_splits: tf.Tensor  # (B + 1,) int64
    ids: tf.Tensor  # (S,) int32: the found token's id, or -1
    taken: tf.Tensor  # (S, 2) int32, as in `Pieces`

    @property
    def plain(self) -> tf.Tensor:
        """(S,) the strings, empty for found tokens."""
        return tf.where(tf.equal(self.ids, _PLAIN), self.strings, "")

    @property
    def found(self) -> tf.Tensor:
        """(S,) the strings of found tokens, empty for others."""
        return tf.where(tf.equal(self.ids, _PLAIN), "", self.strings)

    def joined_with(self, plain: tf.Tensor) -> tf.Tensor:
        """Returns the B strings, with `plain` (S,) for the text between tokens."""
        strings = tf.strings.join([self.found, plain])
        rows = tf.RaggedTensor.from_row_splits(strings, self.row_splits, validate=False)
        return tf.strings.reduce_join(rows, axis=-1)

    def origins_with(self, plain: Origins) -> Origins:
        """Returns where the characters of `joined_with` are from.

        Args:
            plain: Where the characters between tokens are from, by segment.
        """
        count = tf.size(self.strings, tf.int64)
        found = Origins.of(read_characters(self.found), count)
        sizes = tf.strings.length(self.strings, "UTF8_CHAR")
        before = tf.cumsum(sizes, exclusive=True)
        row_starts = tf.gather(self.row_splits, rows_of(self.row_splits))
        before -= tf.gather(before, row_starts)

        def of_strings(of_plain, of_found):
            both = tf.concat([of_plain, of_found], axis=1)
            return tf.RaggedTensor.from_row_splits(
                both.values + tf.gather(before, rows_of(both.row_splits)),
                tf.gather(both.row_splits, self.row_splits),
                validate=False,
            )

        return Origins(*map(of_strings, plain, found))

    def with_found(self, pieces: Pieces) -> Pieces:
        """Inserts the found tokens between the pieces of `plain`."""
        tokens, row_splits = self._places(pieces.row_splits)

        def gathered(of_pieces, of_segments):
            return tf.gather(tf.concat([of_pieces, of_segments], 0), tokens)

        return Pieces(
            gathered(pieces.ids, self.ids),
            row_splits,
            gathered(pieces.lengths, tf.strings.length(self.strings)),
            gathered(pieces.taken, self.taken),
        )

    def ids_with_found(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Inserts the found tokens between the ids of `plain`, (S, None)."""
        tokens, row_splits = self._places(ids.row_splits)
        values = tf.gather(tf.concat([ids.values, self.ids], 0), tokens)
        return tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)

    def _places(self, row_splits: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the order of the pieces of `plain`, followed by the S segments,
        and the row splits of the B strings."""
        found = tf.not_equal(self.ids, _PLAIN)
        count = row_splits[-1]
        positions = count + tf.range(tf.size(self.ids, tf.int64))
        firsts = tf.where(found, positions, row_splits[:-1])
        sizes = row_splits[1:] - row_splits[:-1]
        counts = tf.where(found, tf.ones_like(sizes), sizes)
        return joined(firsts, counts, self.row_splits)


class TokenFinder:
    """Finds tokens in text: the first of overlapping ones, the longest of those with
    the same start.

    Args:
        ids: The tokens with their ids.
        flags: The flags of tokens. One with `lstrip` or `rstrip` takes in the white
            space before or behind it, and one with `single_word` is not found beside
            a letter, digit, mark or underscore.

    Reference: `AddedVocabulary` in Hugging Face tokenizers.
    """

    def __init__(
        self, ids: Mapping[str, int], flags: Mapping[str, Sequence[str]]
    ) -> None:
        self._any = any_of(ids)
        self._left = [x for x in ids if "lstrip" in flags.get(x, ())]
        self._right = [x for x in ids if "rstrip" in flags.get(x, ())]
        self._single = [x for x in ids if "single_word" in flags.get(x, ())]
        # Looked up by hash: a pass for each of a hundred tokens would take long.
        hashes = tf.strings.to_hash_bucket_fast(list(ids), _BUCKETS).numpy()
        order = hashes.argsort()
        self._hashes = tf.constant(hashes[order])
        self._ids = tf.constant([list(ids.values())[i] for i in order], tf.int32)

    def segment(self, source: tf.Tensor) -> Segments:
        """Splits (B,) strings at their tokens."""
        replace = tf.strings.regex_replace
        cut = replace(source, self._any, CUT + rb"\1" + END)
        if self._single:
            cut = self._without_parts_of_words(cut)
        if self._right:
            token = f"({CUT_PATTERN}{any_of(self._right)}){END_PATTERN}"
            cut = replace(cut, f"{token}({SPACE_PATTERN}+)", rb"\1\3" + END)
        if self._left:
            token = f"({any_of(self._left)}{SPACE_PATTERN}*{END_PATTERN})"
            spaces = f"({SPACE_PATTERN}+){CUT_PATTERN}"
            cut = replace(cut, spaces + token, CUT + rb"\1\2")
        segments = _split(cut)
        contents, taken = self._contents(segments.values)
        found = _is_token(segments)
        ids = tf.where(found, self._ids_of(contents), _PLAIN)
        return Segments(segments.values, segments.row_splits, ids, taken)

    def _without_parts_of_words(self, cut: tf.Tensor) -> tf.Tensor:
        """Removes the cuts around parts of words that must be words."""
        segments = _split(cut)
        strings = segments.values
        ends = tf.strings.regex_full_match(strings, f"(?s).*{WORD_PATTERN}")
        begins = tf.strings.regex_full_match(strings, f"(?s){WORD_PATTERN}.*")
        # Between two tokens there may be nothing.
        rows = rows_of(segments.row_splits)
        same = tf.equal(rows[1:], rows[:-1])
        border = tf.zeros_like(strings[:1], tf.bool)
        nothing = tf.equal(strings, "")
        ends |= nothing & before(ends) & tf.concat([border, same], 0)
        begins |= nothing & behind(begins) & tf.concat([same, border], 0)
        single = tf.strings.regex_full_match(strings, any_of(self._single))
        part = single & (before(ends) | behind(begins))
        marked = tf.where(
            _is_token(segments) & ~part, tf.strings.join([CUT, strings, END]), strings
        )
        return tf.strings.reduce_join(segments.with_values(marked), axis=-1)

    def _contents(self, strings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns tokens without the white space that they take in, and its length."""
        contents = strings
        taken = tf.zeros([tf.size(strings), 2], tf.int32)
        for token in dict.fromkeys([*self._left, *self._right]):
            before, behind = (
                f"({SPACE_PATTERN}*)" if token in tokens else "()"
                for tokens in (self._left, self._right)
            )
            pattern = before + re.escape(token) + behind
            found = tf.strings.regex_full_match(strings, pattern)
            spaces = (
                tf.strings.regex_replace(tf.where(found, strings, ""), pattern, part)
                for part in (r"\1", r"\2")
            )
            lengths = [tf.strings.length(x, "UTF8_CHAR") for x in spaces]
            contents = tf.where(found, token, contents)
            taken = tf.where(found[:, None], tf.stack(lengths, 1), taken)
        return contents, taken

    def _ids_of(self, tokens: tf.Tensor) -> tf.Tensor:
        hashes = tf.strings.to_hash_bucket_fast(tokens, _BUCKETS)
        # Not tf.searchsorted, which fails if there are no values.
        at = tf.raw_ops.LowerBound(
            sorted_inputs=self._hashes[None], values=hashes[None]
        )[0]
        return tf.gather(self._ids, tf.minimum(at, tf.size(self._ids) - 1))


def _split(cut: tf.Tensor) -> tf.RaggedTensor:
    """Splits (B,) strings at the beginnings and ends of tokens."""
    return tf.strings.split(tf.strings.regex_replace(cut, END_PATTERN, CUT), CUT)


def _is_token(segments: tf.RaggedTensor) -> tf.Tensor:
    """Returns which segments, (S,) bool, are tokens: each has two cuts around it."""
    starts = tf.gather(segments.row_starts(), rows_of(segments.row_splits))
    position = tf.range(tf.size(segments.values, tf.int64)) - starts
    return tf.equal(position % 2, 1)
