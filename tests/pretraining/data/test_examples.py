import numpy as np
import tensorflow as tf

from keras_bert_lite.pretraining.data.examples import padded, serialize


def message(row):
    """As the library for messages serializes them."""
    features = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        for name, values in row.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)


def test_bytes_are_those_of_the_messages():
    rng = np.random.default_rng(0)
    counts = {"token_ids": rng.integers(0, 300, 40), "label": np.ones(40, np.int64)}
    flat = {k: rng.integers(0, 2**31 - 1, n.sum()) >> 12 for k, n in counts.items()}
    rows = [
        {k: np.split(flat[k], np.cumsum(n)[:-1])[i] for k, n in counts.items()}
        for i in range(40)
    ]
    features = {k: padded(flat[k], n) for k, n in counts.items()}
    assert serialize(features) == [message(row) for row in rows]


def test_rows_are_filled_up_at_the_end():
    made = padded(np.array([1, 2, 3]), np.array([2, 0, 1]), 3)
    assert made.values.tolist() == [[1, 2, 0], [0, 0, 0], [3, 0, 0]]
    assert made.counts.tolist() == [2, 0, 1]
