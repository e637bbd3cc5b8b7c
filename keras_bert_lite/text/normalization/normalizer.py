"""Normalization of characters, with grapheme clusters and canonical composition.

This is the exact path, which keeps the origin of every character. Strings that do
not need it take the `FastPath`, with one look-up per character.
"""

from __future__ import annotations

from collections.abc import Callable

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.normalization import steps as steps_of
from keras_bert_lite.text.normalization.characters import (
    Characters,
    before,
    behind,
    latest,
    number_of,
)
from keras_bert_lite.text.normalization.clusters import Clusters, Replacement
from keras_bert_lite.text.normalization.composition import Composition
from keras_bert_lite.text.normalization.steps import Steps
from keras_bert_lite.text.unicode.lookup import CodePointSet

_PER_CHARACTER = ("lowercase", "strip_accents")


class Normalizer:
    """Runs the steps of normalization on `Characters`."""

    def __init__(self, steps: Steps) -> None:
        self._white_space = CodePointSet(steps_of.WHITE_SPACE)
        self._run: list[Callable[[Characters], Characters]] = []
        for name in steps.names:
            if name in _PER_CHARACTER:
                self._run.append(Replacement(steps.images((name,))))
            elif name == "charsmap":
                self._run.append(Clusters(steps))
            elif name == "nfc":
                self._run.append(Composition())
            else:
                self._run.append(getattr(self, f"_{name}"))

    def __call__(self, text: Characters) -> Characters:
        for step in self._run:
            text = step(text)
        return text

    def _quotes(self, text: Characters) -> Characters:
        """Replaces two grave accents or apostrophes by one quotation mark."""
        points = text.code_points
        quote = tf.logical_or(tf.equal(points, ord("`")), tf.equal(points, ord("'")))
        same = tf.logical_and(text.continues, tf.equal(points, before(points)))
        run_starts = tf.logical_not(tf.logical_and(same, quote))
        position = tf.range(tf.size(points, tf.int64)) - latest(run_starts)
        second = tf.logical_and(quote, tf.equal(position % 2, 1))
        return text.replace(second, ord('"')).keep(tf.logical_not(behind(second)))

    def _collapse_spaces(self, text: Characters) -> Characters:
        return self._without_repeats(text, tf.equal(text.code_points, ord(" ")))

    def _collapse_white_space(self, text: Characters) -> Characters:
        spaces = self._white_space(text.code_points)
        repeats = tf.logical_and(text.continues, tf.logical_and(spaces, before(spaces)))
        breaks = tf.reduce_any(
            tf.equal(text.code_points[:, None], [ord(x) for x in "\n\r\t"]), -1
        )
        text_of = text.replace(tf.logical_or(repeats, breaks), ord(" "))
        return self._without_repeats(text_of, spaces)

    def _without_repeats(self, text: Characters, spaces: tf.Tensor) -> Characters:
        """Keeps the last space of each run."""
        repeats = tf.logical_and(text.continues, tf.logical_and(spaces, before(spaces)))
        return text.keep(tf.logical_not(behind(repeats)))

    def _strip(self, text: Characters) -> Characters:
        ink = tf.cast(tf.logical_not(self._white_space(text.code_points)), tf.int32)
        seen = tf.cumsum(ink)
        starts = tf.logical_not(text.continues)
        earlier = tf.gather(seen - ink, tf.where(starts)[:, 0])
        inked = seen > tf.gather(earlier, number_of(starts))
        return self._strip_right(text.keep(inked))

    def _strip_right(self, text: Characters) -> Characters:
        ink = tf.cast(tf.logical_not(self._white_space(text.code_points)), tf.int32)
        seen = tf.cumsum(ink)
        segment = number_of(tf.logical_not(text.continues))
        total = tf.gather(tf.math.segment_max(seen, segment), segment)
        return text.keep(total > seen - ink)
