"""Replacement of characters and grapheme clusters by strings."""

from __future__ import annotations

import functools
import itertools
import unicodedata

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.normalization import steps as steps_of
from keras_bert_lite.text.normalization.characters import (
    Characters,
    before,
    latest,
    number_of,
    utf8_lengths,
)
from keras_bert_lite.text.normalization.charsmap import MAX_CLUSTER_BYTES
from keras_bert_lite.text.normalization.steps import Steps
from keras_bert_lite.text.ragged import repeated_places
from keras_bert_lite.text.unicode.lookup import CodePointSet, ImageTable

_ZERO_WIDTH_JOINER = 0x200D
_MAX_CLUSTER = 3  # characters in a cluster of five bytes
_EMPTY = 1  # the number of the empty image


class Replacement:
    """Replaces single characters by strings."""

    def __init__(self, images: dict[int, str], others: tuple[str, ...] = ()) -> None:
        self._images = ImageTable(images, others)

    def __call__(self, text: Characters) -> Characters:
        numbers = self._images.of(text.code_points)
        return self._expand(text, numbers, tf.ones_like(numbers))

    def _expand(self, text, numbers, widths):
        """Replaces characters by images.

        Args:
            text: N characters.
            numbers: (N,) int32, the numbers of images.
            widths: (N,) int32, how many characters each image replaces.
        """
        lengths = self._images.lengths(numbers)
        index = tf.cast(repeated_places(lengths), tf.int32)
        position = tf.range(tf.size(index)) - tf.gather(
            tf.cumsum(lengths, exclusive=True), index
        )
        number = tf.gather(numbers, index)
        origin = self._origins(text, numbers, widths, index, position)
        stays = tf.equal(number, 0)
        inside = tf.where(stays, 0, position)
        points = tf.where(
            stays,
            tf.gather(text.code_points, index),
            self._images.character(number, inside),
        )
        return text.take(origin)._replace(code_points=points)

    def _origins(self, text, numbers, widths, index, position):
        """(M,) int32: the original character of each character of the images."""
        return index + tf.minimum(position, tf.gather(widths, index) - 1)


class Clusters(Replacement):
    """Applies a charsmap to grapheme clusters, as the reference does."""

    def __init__(self, steps: Steps) -> None:
        keys = steps.keys
        super().__init__(steps.images(("charsmap",)), tuple(keys.values()))
        codes = {
            _code(key): self._images.numbers[x]
            for key, x in keys.items()
            if len(key) <= _MAX_CLUSTER
        }
        self._codes = tf.constant(sorted(codes) or [0], tf.int64)
        self._numbers = tf.constant([codes[x] for x in sorted(codes)] or [0], tf.int32)
        self._extends = CodePointSet(steps_of.EXTENDS)
        self._prepends = CodePointSet(steps_of.PREPENDS)
        self._pictographs = CodePointSet(steps_of.PICTOGRAPHS)
        self._controls = CodePointSet(_controls())

    def __call__(self, text: Characters) -> Characters:
        points = text.code_points
        starts = tf.logical_not(self._joined(text))
        cluster = number_of(starts)
        firsts = tf.where(starts)[:, 0]
        sizes = tf.math.segment_sum(tf.ones_like(points), cluster)
        bytes_of = tf.math.segment_sum(utf8_lengths(points), cluster)
        whole = tf.logical_and(sizes > 1, bytes_of <= MAX_CLUSTER_BYTES)
        hit = tf.where(whole, self._shortest_prefix(points, firsts, sizes), 0)
        hits = tf.gather(hit, cluster)
        numbers = tf.where(
            hits > 0, tf.where(starts, hits, _EMPTY), self._images.of(points)
        )
        widths = tf.where(hits > 0, tf.gather(sizes, cluster), 1)
        return self._expand(text, numbers, widths)

    def _joined(self, text: Characters) -> tf.Tensor:
        """(N,) bool: whether a character belongs to the cluster before it."""
        points = text.code_points
        extends, controls = self._extends(points), self._controls(points)
        pictographs = self._pictographs(points)
        base = tf.gather(pictographs, latest(tf.logical_not(extends)))
        joiner = tf.equal(points, _ZERO_WIDTH_JOINER)
        new_line = tf.logical_and(
            tf.equal(before(points), ord("\r")), tf.equal(points, ord("\n"))
        )
        kinds = (
            tf.logical_and(extends, tf.logical_not(before(controls))),
            tf.logical_and(before(self._prepends(points)), tf.logical_not(controls)),
            tf.logical_and(before(tf.logical_and(joiner, base)), pictographs),
            new_line,
        )
        return tf.logical_and(text.continues, tf.reduce_any(tf.stack(kinds), 0))

    def _shortest_prefix(self, points, firsts, sizes):
        """Returns the number of the shortest key that begins each cluster, or 0."""
        code = tf.zeros_like(firsts)
        found = tf.zeros_like(sizes)
        last = tf.size(points, tf.int64) - 1
        for i in range(_MAX_CLUSTER):
            point = tf.gather(points, tf.minimum(firsts + i, last))
            point = tf.where(i < sizes, point, 0)
            code += tf.cast(point, tf.int64) * (1 << (42 - 21 * i))
            at = tf.minimum(
                tf.searchsorted(self._codes, code), tf.size(self._codes) - 1
            )
            number = tf.where(
                tf.equal(tf.gather(self._codes, at), code),
                tf.gather(self._numbers, at),
                0,
            )
            found = tf.where(found > 0, found, number)
        return found

    def _origins(self, text, numbers, widths, index, position):
        """Follows Hugging Face's offsets: a deleted character belongs to the last
        replacement before it."""
        lengths = self._images.lengths(numbers)
        # Deletions at the start of a segment shift all its origins back.
        starts = tf.logical_not(text.continues)
        segment = number_of(starts)
        total = tf.cumsum(lengths)
        earlier = tf.gather(total - lengths, tf.where(starts)[:, 0])
        nothing = tf.cast(tf.equal(total, tf.gather(earlier, segment)), tf.int32)
        late = tf.gather(tf.math.segment_sum(nothing, segment), segment)
        # A deletion after a longer image moves the image's last origin there.
        size = tf.size(lengths)
        following = tf.minimum(tf.range(size) + widths, size - 1)
        deleted = tf.equal(tf.gather(lengths, following), 0) & tf.equal(
            tf.gather(text.segments, following), text.segments
        )
        moves = deleted & (lengths > widths) & (tf.range(size) + widths < size)
        last = tf.equal(position, tf.gather(lengths, index) - 1)
        moved = tf.cast(tf.gather(moves, index) & last, tf.int32)
        origin = super()._origins(text, numbers, widths, index, position)
        return origin + moved - tf.gather(late, index)


def _code(key: str) -> int:
    points = [*map(ord, key), 0, 0]
    return points[0] << 42 | points[1] << 21 | points[2]


@functools.cache
def _controls() -> set[int]:
    kinds = {"Cc", "Cf", "Zl", "Zp"}
    candidates = itertools.chain(range(0x20000), range(0xE0000, 0xE1000))
    controls = {c for c in candidates if unicodedata.category(chr(c)) in kinds}
    return controls - steps_of.EXTENDS - steps_of.PREPENDS
