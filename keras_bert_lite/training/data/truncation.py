"""A warning about texts that a data set truncates."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.training.data.options import mapped


class TruncationWarning(UserWarning):
    """Texts were longer than a row, so that the model read only their beginnings."""


@contextlib.contextmanager
def unwarned() -> Iterator[None]:
    """Ignores such warnings, where lengths are reported in another way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        yield


def with_warning(
    dataset: tf.data.Dataset, sequence_length: int | None
) -> tf.data.Dataset:
    """Warns once, with their number, if texts were truncated.

    The numbers of a pass are counted as its batches are made, so nothing is tokenized
    twice. The warning comes at the end of the first whole pass; if the number of
    batches is unknown, with the first batch that has such texts.

    Args:
        dataset: Pairs: an element, and the booleans `(B,)` of which texts of the
            batch were truncated.
        sequence_length: The tokens of a row; `None`: no text is truncated.

    Returns:
        A data set of the elements.
    """
    if sequence_length is None:
        return mapped(dataset, lambda element, _: element, None)
    count = _Count(int(dataset.cardinality()), sequence_length)

    def counted(number: tf.Tensor, pair: tuple) -> tf.Tensor:
        element, truncated = pair
        size = tf.size(truncated)
        cut = tf.math.count_nonzero(truncated)
        tf.numpy_function(count.add, [number, cut, size], [])
        return element

    return mapped(dataset.enumerate(), counted, None)


class _Count:
    """Counts truncated texts by the number of their batch in a pass.

    Args:
        batches: Of a pass; negative if unknown. Then each batch counts by itself, or an
            endless stream would fill the memory.
        sequence_length: For the message.
    """

    def __init__(self, batches: int, sequence_length: int) -> None:
        self._batches = batches
        self._length = sequence_length
        self._found: dict[int, tuple[int, int]] = {}
        self._ended = False

    def add(self, number: np.ndarray, cut: np.ndarray, size: np.ndarray) -> None:
        if self._ended:
            return
        if self._batches < 0:
            self._found.clear()
        self._found[int(number)] = int(cut), int(size)
        if len(self._found) < self._batches:
            return
        cuts, sizes = map(sum, zip(*self._found.values(), strict=True))
        self._ended = bool(cuts) or self._batches >= 0
        if cuts:
            warnings.warn(
                f"{cuts} of {sizes} texts were longer than {self._length} tokens and "
                "were truncated. `load_preprocessor(..., sequence_length=...)` can be "
                "larger, up to the encoder's; `stride` and `windows` read all of a "
                "long text.",
                TruncationWarning,
                stacklevel=2,
            )
