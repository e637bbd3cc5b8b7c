"""Canonical composition (NFC), in the reference's version of Unicode."""

import functools
import itertools
import unicodedata
from collections.abc import Iterable, Mapping

import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_lite.text.normalization import steps as steps_of
from keras_bert_lite.text.normalization.characters import (
    Characters,
    before,
    utf8_lengths,
)
from keras_bert_lite.text.ragged import rows_of
from keras_bert_lite.text.unicode import graphemes
from keras_bert_lite.text.unicode.code_points import character_class, code_points
from keras_bert_lite.text.unicode.lookup import CodePointSet


class Composition:
    """Composes characters; a composed one keeps the origin of its first part."""

    def __init__(self) -> None:
        # Nothing is composed or reordered across these in the reference.
        self._late = CodePointSet(code_points(graphemes.LATE))

    def __call__(self, text: Characters) -> Characters:
        strings = tf.strings.unicode_encode(
            tf.RaggedTensor.from_value_rowids(text.code_points, self._parts(text)),
            "UTF-8",
        )
        composed, edits = tf_text.normalize_utf8_with_offsets_map(strings, "NFC")
        points, positions = tf.strings.unicode_decode_with_offsets(composed, "UTF-8")
        sources = tf_text.find_source_offsets(edits, positions).values
        row = rows_of(points.row_splits)
        lengths = tf.cast(tf.strings.length(strings), tf.int64)
        position = sources + tf.gather(tf.cumsum(lengths, exclusive=True), row)
        # The old character that begins at or before a byte.
        ends = tf.cumsum(utf8_lengths(text.code_points))
        index = tf.searchsorted(ends, tf.cast(position, tf.int32), side="right")
        # Inside an edit, ICU returns the end of the edit: count back from there.
        group = tf.cumsum(
            tf.cast(
                tf.not_equal(position, before(position))
                | tf.not_equal(row, before(row)),
                tf.int32,
            )
        )
        group -= group[:1]
        at = tf.range(tf.size(group))
        last = tf.gather(tf.math.segment_max(at, group), group)
        back = last - at + tf.cast(tf.equal(sources, tf.gather(lengths, row)), tf.int32)
        return text.take(index - back)._replace(code_points=points.values)

    def _parts(self, text: Characters) -> tf.Tensor:
        """(N,) int64: the part of the text that each character is composed in."""
        # Leave out empty strings, which an op refuses.
        earlier = tf.concat([text.rows[:1] - 1, text.rows[:-1]], 0)
        late = self._late(text.code_points)
        begins = tf.not_equal(text.rows, earlier) | late | before(late)
        return tf.cumsum(tf.cast(begins, tf.int64)) - 1


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
