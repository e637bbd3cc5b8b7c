"""Canonical composition (NFC), in the reference's version of Unicode."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterable, Mapping

from keras_bert_lite._tensorflow import tf, tf_text
from keras_bert_lite.text.normalization import steps as steps_of
from keras_bert_lite.text.normalization.characters import Characters, before
from keras_bert_lite.text.ragged import repeated_places, rows_of
from keras_bert_lite.text.unicode import graphemes
from keras_bert_lite.text.unicode.code_points import character_class, code_points
from keras_bert_lite.text.unicode.lookup import CodePointSet, CodePointTable, ImageTable


class Composition:
    """Composes characters, and finds the origin that the reference gives each.

    The reference decomposes text, sorts its marks and composes it. Of what a
    character decomposes to, the first part stands for the character and the others
    for none; a composed character stands for those of its parts. The characters
    that the results stand for are counted from the start of the text, whatever the
    sorting did to their order.
    """

    def __init__(self) -> None:
        late = code_points(graphemes.LATE)
        self._late = CodePointSet(late)
        decomposed = code_points(graphemes.DECOMPOSED) - late
        images = {c: unicodedata.normalize("NFD", chr(c)) for c in decomposed}
        self._images = ImageTable({c: x for c, x in images.items() if x != chr(c)})
        marks = set(steps_of.EXTENDS) - late
        self._classes = CodePointTable(
            {c: unicodedata.combining(chr(c)) for c in marks}
        )

    def __call__(self, text: Characters) -> Characters:
        parts = self._parts(text)
        strings = tf.strings.unicode_encode(
            tf.RaggedTensor.from_value_rowids(text.code_points, parts), "UTF-8"
        )
        composed = tf.strings.unicode_decode(
            tf_text.normalize_utf8(strings, "NFC"), "UTF-8"
        )
        first = self._sorted_parts(text.code_points, parts)[1]
        owners, _ = self._sorted_parts(composed.values, rows_of(composed.row_splits))
        counts = tf.math.unsorted_segment_sum(
            tf.cast(first, tf.int32), owners, tf.size(composed.values)
        )
        origin = tf.cumsum(counts, exclusive=True)
        origin -= tf.cast(tf.equal(counts, 0), tf.int32)
        return text.take(origin)._replace(code_points=composed.values)

    def _parts(self, text: Characters) -> tf.Tensor:
        """(N,) int64: the part of the text that each character is composed in.

        Nothing is composed or moved across characters that the reference does not
        know, and parts are never empty.
        """
        earlier = tf.concat([text.rows[:1] - 1, text.rows[:-1]], 0)
        late = self._late(text.code_points)
        begins = tf.not_equal(text.rows, earlier) | late | before(late)
        return tf.cumsum(tf.cast(begins, tf.int64)) - 1

    def _sorted_parts(
        self, points: tf.Tensor, parts: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns what characters (N,) decompose to, M characters in canonical order.

        Returns:
            The index of the character that each is from, (M,) int32, and whether it
            is the first from there, (M,) bool.
        """
        numbers = self._images.of(points)
        lengths = self._images.lengths(numbers)
        index = tf.cast(repeated_places(lengths), tf.int32)
        position = tf.range(tf.size(index)) - tf.gather(
            tf.cumsum(lengths, exclusive=True), index
        )
        number = tf.gather(numbers, index)
        stays = tf.equal(number, 0)
        decomposed = tf.where(
            stays,
            tf.gather(points, index),
            self._images.character(number, tf.where(stays, 0, position)),
        )
        classes = tf.cast(self._classes(decomposed), tf.int64)
        part = tf.gather(parts, index)
        begins = tf.equal(classes, 0) | tf.not_equal(part, before(part))
        run = tf.cumsum(tf.cast(begins, tf.int64))
        order = tf.argsort(256 * run + classes, stable=True)
        return tf.gather(index, order), tf.equal(tf.gather(position, order), 0)


def changing_patterns(earlier: Mapping[int, str]) -> Iterable[str]:
    """Yields RE2 patterns of text that NFC may change.

    Args:
        earlier: The images of characters under earlier steps.
    """
    changing = _changed_by_nfc()
    marks = {c for c in steps_of.EXTENDS if unicodedata.combining(chr(c))}
    into = {c for c, x in earlier.items() if any(ord(y) in changing for y in x)}
    yield character_class(changing | into)
    yield f"{character_class(marks)}{{2}}"


@functools.cache
def _changed_by_nfc() -> frozenset[int]:
    changed = set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in itertools.chain(range(0x80, 0xAC00), range(0xF900, 0x30000)):
        parts = unicodedata.decomposition(chr(c)).split()
        if parts and not parts[0].startswith("<"):
            composed = unicodedata.normalize("NFC", chr(c)) == chr(c)
            changed.add(int(parts[-1], 16) if composed else c)
    return frozenset(changed)
