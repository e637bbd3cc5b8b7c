"""Serialization of many rows of integers as `tf.train.Example`s at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keras_bert_lite._tensorflow import tf


class Padded(NamedTuple):
    """Rows of integers of different lengths, padded at the end."""

    values: np.ndarray  # (R, W)
    counts: np.ndarray  # (R,), the unpadded length of each row


Features = dict[str, Padded]


def padded(flat: np.ndarray, counts: np.ndarray, width: int | None = None) -> Padded:
    """Pads concatenated rows to one width.

    Args:
        flat: The concatenated values of all rows.
        counts: The length of each row, (R,).
        width: The width to pad to; `None`: that of the longest row.
    """
    width = int(counts.max()) if width is None else width
    values = np.zeros((len(counts), width), np.int32)
    values[np.arange(width) < counts[:, None]] = flat
    return Padded(values, counts)


def serialize(features: Features) -> list[bytes]:
    """Serializes rows to the bytes of `SerializeToString(deterministic=True)`.

    Building a message per row in Python would take most of the time of writing
    pretraining data.

    Args:
        features: Features by name, with the same number of rows each.
    """
    entries = [_entry(name, features[name]) for name in sorted(features)]
    one = np.ones((len(entries[0]), 1), np.int32)
    count = one * len(entries)
    together = _encode("Features", count, feature=tf.stack(entries, 1))
    return _encode("Example", one, features=together[:, None]).numpy().tolist()


def _entry(name: str, rows: Padded) -> tf.Tensor:
    """Returns each row's map entry of a feature, (R,) string."""
    counts = rows.counts.astype(np.int32)[:, None]
    one = np.ones_like(counts)
    integers = _encode("Int64List", counts, value=rows.values.astype(np.int64))
    feature = _encode("Feature", one, int64_list=integers[:, None])
    key = tf.fill(one.shape, name)
    both = np.repeat(one, 2, axis=1)
    return _encode("Features.FeatureEntry", both, key=key, value=feature[:, None])


def _encode(message: str, counts: np.ndarray, **fields: tf.Tensor) -> tf.Tensor:
    return tf.io.encode_proto(
        counts, list(fields.values()), list(fields), f"tensorflow.{message}"
    )
