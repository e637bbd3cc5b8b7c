"""Rows of distances, and the skew."""

import math

import numpy as np
import pytest
from keras import ops

from keras_bert_lite.layers.attention.relative_positions import (
    LONGEST_DISTANCE,
    falling_distances,
    log_buckets,
    rows_by_distance,
    scores_by_distance,
    skew,
    table_rows,
)
from tests.conformance import to_numpy


def test_near_distances_are_their_own_buckets():
    distances = np.arange(-8, 9)
    assert (log_buckets(distances, 16, 64) == distances).all()


def test_far_distances_share_buckets_that_grow():
    # As transformers 5.23 has them: 8, and then 7 steps of the logarithm to 63.
    steps = [math.ceil(7 * math.log(d / 8) / math.log(63 / 8)) for d in range(9, 63)]
    assert log_buckets(range(9, 63), 16, 64).tolist() == [8 + x for x in steps]
    assert log_buckets([63, -63, 12, -12], 16, 64).tolist() == [15, -15, 10, -10]


def test_buckets_of_version_3():
    # Of `make_log_bucket_position(distances, 256, 512)` in transformers 5.23.
    got = log_buckets([128, 129, 130, 200, 300, 400, 511, 512], 256, 512)
    assert got.tolist() == [128, 129, 130, 169, 207, 233, 255, 256]


@pytest.mark.parametrize("buckets", [None, 2, 3, 7, 16, 256, 257])
def test_rows_rise_with_the_distance_and_stay_in_the_table(buckets):
    longest = 512 if buckets else 20
    rows, limit = rows_by_distance(longest, buckets)
    span = buckets or longest
    assert len(rows) == 2 * limit + 1 <= 2 * LONGEST_DISTANCE + 1
    assert rows[limit] == span
    assert np.all(np.diff(rows) >= 0)
    assert rows[0] >= 0
    assert rows[-1] <= 2 * span - 1


def test_every_distance_is_its_own_row_up_to_the_span():
    distances = np.array([-9, -4, -3, 0, 3, 4, 9])
    assert table_rows(distances, 4).tolist() == [0, 0, 1, 4, 7, 7, 7]


@pytest.mark.parametrize("buckets", [None, 16])
def test_tensors_and_arrays_agree(buckets):
    distances = np.arange(-70, 71, dtype="int32")
    tensors = table_rows(ops.convert_to_tensor(distances), 64, buckets)
    assert (to_numpy(tensors) == table_rows(distances, 64, buckets)).all()


def test_falling_distances():
    assert falling_distances(3).tolist() == [2, 1, 0, -1, -2, -3]
    assert isinstance(falling_distances(3), np.ndarray)


@pytest.mark.tensorflow(reason="elsewhere lengths are known")
def test_falling_distances_of_a_tensor():
    length = ops.convert_to_tensor(3, "int32")
    assert to_numpy(falling_distances(length)).tolist() == [2, 1, 0, -1, -2, -3]


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_skew_puts_distances_at_positions(length):
    x = np.random.default_rng(0).normal(size=(2, 3, length, 2 * length))
    x = x.astype("float32")
    want = np.zeros((2, 3, length, length), "float32")
    for i in range(length):
        for j in range(length):
            (column,) = np.flatnonzero(falling_distances(length) == i - j)
            want[:, :, i, j] = x[:, :, i, column]
    assert (to_numpy(skew(ops.convert_to_tensor(x))) == want).all()


@pytest.mark.parametrize("heads", [1, 2])
def test_scores_by_distance_with_any_number_of_heads(heads):
    # TensorFlow's own product of these sizes is wrong for one head on some machines;
    # see `broadcast_product`.
    batch, length, size = 4, 24, 8
    generator = np.random.default_rng(0)
    x = generator.normal(size=(batch, heads, length, size)).astype("float32")
    table = generator.normal(size=(2 * length, heads * size)).astype("float32")
    got = scores_by_distance(*map(ops.convert_to_tensor, (x, table)))
    vectors = table.reshape(2 * length, heads, size)
    rows = np.arange(length)
    distances = length - 1 - (rows[:, None] - rows)  # the columns of `table`
    want = np.einsum("bnid,ijnd->bnij", x, vectors[distances])
    np.testing.assert_allclose(to_numpy(got), want, atol=1e-5)
