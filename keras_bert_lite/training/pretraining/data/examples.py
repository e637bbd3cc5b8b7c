"""Rows of integers as serialized `tf.train.Example`s, many at once."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf


class Padded(NamedTuple):
    """Rows of integers that differ in length, filled up at the end."""

    values: np.ndarray  # (R, W)
    counts: np.ndarray  # (R,), how many of each row are real


Features = dict[str, Padded]


def padded(flat: np.ndarray, counts: np.ndarray, width: int | None = None) -> Padded:
    """Lays values one row below the other.

    Args:
        flat: The values of all rows, one row behind the other.
        counts: Of each row, (R,).
        width: Of rows; `None`: that of the longest.
    """
    width = int(counts.max()) if width is None else width
    values = np.zeros((len(counts), width), np.int32)
    values[np.arange(width) < counts[:, None]] = flat
    return Padded(values, counts)


def serialize(features: Features) -> list[bytes]:
    """Serializes rows, byte by byte as `SerializeToString(deterministic=True)` does.

    Making a message of each row in Python would take most of the time that
    pretraining data take.

    Args:
        features: By name, as many rows of each.
    """
    entries = [_entry(name, features[name]) for name in sorted(features)]
    one = np.ones((len(entries[0]), 1), np.int32)
    count = one * len(entries)
    together = _encode("Features", count, feature=tf.stack(entries, 1))
    return _encode("Example", one, features=together[:, None]).numpy().tolist()


def _entry(name: str, rows: Padded) -> tf.Tensor:
    """A feature with its name, in each row, (R,) string."""
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
