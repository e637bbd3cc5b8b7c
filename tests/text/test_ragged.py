import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.text.ragged import repeat, repeated_places, rows_of


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("counts", [[2, 0, 1], [0, 0], [], [3], [0, 4, 0, 0, 1, 0]])
def test_as_tensorflow_does(counts, dtype):
    counts = tf.constant(counts, dtype)
    places = tf.range(tf.size(counts, tf.int64))
    np.testing.assert_array_equal(
        repeated_places(counts), tf.repeat(places, counts, axis=0)
    )
    values = 10 * places
    np.testing.assert_array_equal(repeat(values, counts), tf.repeat(values, counts))
    rows = tf.RaggedTensor.from_row_lengths(tf.range(tf.reduce_sum(counts)), counts)
    np.testing.assert_array_equal(rows_of(rows.row_splits), rows.value_rowids())


def test_one_long_row_among_many_short_ones():
    """As a matrix this would be of 2 TB."""
    counts = np.ones(1_000_000, "int64")
    counts[7] = 1_000_000
    places = repeated_places(tf.constant(counts))
    np.testing.assert_array_equal(places, np.repeat(np.arange(1_000_000), counts))
