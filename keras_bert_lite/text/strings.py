"""Conversion, validation and reshaping of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf

# Valid UTF-8 in RE2: anything but surrogates, which RE2 accepts.
_VALID_UTF8 = r"(?s)[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"


def as_strings(value: Any, name: str) -> tf.Tensor | tf.RaggedTensor:
    """Converts Python, numpy or TensorFlow strings to a string tensor.

    Args:
        value: A string, bytes, a (nested) list or tuple of them, a numpy
            array, a pandas or polars Series, a `tf.Tensor` or a `tf.RaggedTensor`.
        name: The argument's name for error messages.

    Raises:
        TypeError: If anything in `value` is not a string.
        ValueError: If a string holds half of a surrogate pair.
    """
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):  # a pandas Series
        value = np.asarray(value).tolist()
    if isinstance(value, (tf.Tensor, tf.RaggedTensor)):
        strings = value
    elif isinstance(value, tf.Variable):
        strings = tf.convert_to_tensor(value)
    elif isinstance(value, (list, tuple)) and not value:
        strings = tf.constant([], tf.string)
    else:
        strings = _from_python(value, name)
    if strings.dtype != tf.string:
        raise TypeError(
            f"`{name}` must be strings. Received: a tensor of dtype "
            f"{strings.dtype.name} and shape {strings.shape}"
        )
    return strings


def _from_python(value: Any, name: str) -> tf.Tensor | tf.RaggedTensor:
    _refuse_other_than_strings(value, name)
    try:
        strings = tf.convert_to_tensor(value, tf.string)
    except (TypeError, ValueError):
        return tf.ragged.constant(value, dtype=tf.string)
    # Of `[[], ["a"]]` TensorFlow makes two empty rows.
    lost = strings.shape.num_elements() == 0 and _holds_strings(value)
    return tf.ragged.constant(value, dtype=tf.string) if lost else strings


def _holds_strings(value: Any) -> bool:
    return not isinstance(value, (list, tuple)) or any(map(_holds_strings, value))


def _refuse_other_than_strings(value: Any, name: str) -> None:
    if isinstance(value, (list, tuple)):
        for item in value:
            _refuse_other_than_strings(item, name)
    elif not isinstance(value, (str, bytes)):
        raise TypeError(
            f"`{name}` must be strings. Received: {value!r} "
            f"(of type {type(value).__name__})"
        )
    elif isinstance(value, str) and not value.isascii():
        _refuse_surrogates(value, name)


def _refuse_surrogates(value: str, name: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"`{name}` must be text that UTF-8 can encode. Received: half of a "
            f"surrogate pair in {value!r:.200}"
        ) from None


def valid_utf8(strings: tf.Tensor) -> tf.Tensor:
    """Drops bytes that are not UTF-8, as Google's `convert_to_unicode` does."""
    valid = tf.reduce_all(tf.strings.regex_full_match(strings, _VALID_UTF8))
    return tf.cond(
        valid,
        lambda: strings,
        lambda: tf.strings.unicode_transcode(
            strings, "UTF-8", "UTF-8", errors="ignore"
        ),
    )


def slices(
    texts: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
) -> tf.Tensor:
    """Returns parts of texts in time and memory linear in the texts and parts.

    `tf.strings.substr` would copy the whole text for each part.

    Args:
        texts: Valid UTF-8, `(B,)`.
        rows: The text of each part, `(E,)` int64.
        starts, ends: Its span in code points of the text, end exclusive, `(E,)`.

    Returns:
        Strings `(E,)`.
    """
    points = tf.strings.unicode_decode(texts, "UTF-8")
    first = tf.gather(points.row_starts(), rows) + tf.cast(starts, tf.int64)
    positions = tf.ragged.range(first, first + tf.cast(ends - starts, tf.int64))
    parts = positions.with_values(tf.gather(points.flat_values, positions.flat_values))
    return tf.strings.unicode_encode(parts, "UTF-8")


def flat(strings: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
    if isinstance(strings, tf.RaggedTensor):
        return tf.reshape(strings.flat_values, [-1])
    return tf.reshape(strings, [-1])


def shaped_like(
    values: tf.Tensor,
    row_splits: tf.Tensor,
    strings: tf.Tensor | tf.RaggedTensor,
) -> tf.RaggedTensor | tf.Tensor:
    """Reshapes flat rows, one per string, to the shape of the strings."""
    if isinstance(strings, tf.RaggedTensor):
        rows = shaped_like(values, row_splits, strings.flat_values)
        return strings.with_flat_values(rows)
    if strings.shape.rank == 0:
        return values
    rows = tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)
    for axis in range(strings.shape.rank - 1, 0, -1):
        length = tf.shape(strings, out_type=tf.int64)[axis]
        count = tf.reduce_prod(tf.shape(strings, out_type=tf.int64)[:axis])
        rows = tf.RaggedTensor.from_uniform_row_length(rows, length, count)
    return rows
