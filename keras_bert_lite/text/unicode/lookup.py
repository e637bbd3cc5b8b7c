"""Look-up of code points in a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from keras_bert_lite._tensorflow import tf

_BLOCK = 256
_ALL = 0x110000


class CodePointTable:
    """A number for each code point; equal blocks of 256 are stored once."""

    def __init__(self, numbers: Mapping[int, int]) -> None:
        table = np.zeros(_ALL, np.int32)
        table[np.fromiter(numbers.keys(), np.int64, len(numbers))] = np.fromiter(
            numbers.values(), np.int32, len(numbers)
        )
        blocks = table.reshape(-1, _BLOCK)
        positions: dict[bytes, int] = {}
        starts = [positions.setdefault(x.tobytes(), len(positions)) for x in blocks]
        numbers_of = np.frombuffer(b"".join(positions), np.int32)
        self._numbers = tf.constant(numbers_of)
        self._starts = tf.constant(_BLOCK * np.array(starts, np.int32))

    def __call__(self, code_points: tf.Tensor) -> tf.Tensor:
        start = tf.gather(self._starts, code_points // _BLOCK)
        return tf.gather(self._numbers, start + code_points % _BLOCK)


class ImageTable:
    """A string for each code point, as a number and as code points.

    The number 0 means an unchanged character, 1 the empty string.
    """

    def __init__(self, images: Mapping[int, str], others: Iterable[str] = ()) -> None:
        distinct = dict.fromkeys(("", *images.values(), *others))
        self.numbers = {image: i for i, image in enumerate(distinct, 1)}
        self.of = CodePointTable({c: self.numbers[x] for c, x in images.items()})
        lengths = [1, *map(len, self.numbers)]
        self._lengths = tf.constant(lengths, tf.int32)
        self._starts = tf.constant(np.cumsum([0, 0, *lengths[1:-1]]), tf.int32)
        pool = [ord(x) for image in self.numbers for x in image]
        self._pool = tf.constant([*pool, 0], tf.int32)

    def lengths(self, numbers: tf.Tensor) -> tf.Tensor:
        return tf.gather(self._lengths, numbers)

    def character(self, numbers: tf.Tensor, position: tf.Tensor) -> tf.Tensor:
        """Returns the characters at `position` of images; arbitrary for number 0."""
        return tf.gather(self._pool, tf.gather(self._starts, numbers) + position)


class CodePointSet:
    """A membership test for code points."""

    def __init__(self, members: Iterable[int]) -> None:
        self._table = CodePointTable(dict.fromkeys(members, 1))

    def __call__(self, code_points: tf.Tensor) -> tf.Tensor:
        return tf.equal(self._table(code_points), 1)
