"""The rows of a batch in parts that are computed at once."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.models.encoder_parts import make_blocks
from keras_bert_lite.serving.saved_model.int8 import parts
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")


def mask_of(counts, length=24):
    return np.arange(length) < np.reshape(counts, [-1, 1])


@pytest.mark.parametrize(
    ("counts", "number"),
    [
        ([], 1),
        ([60], 1),
        ([600], 1),
        ([20, 20, 20], 1),  # too few tokens
        ([30, 40], 2),
        ([9, 80, 3, 5, 40], 2),
        ([100] * 20 + [20] * 20, 4),
        ([512, 1] * 16, 10),
    ],
)
def test_every_row_is_in_one_part(counts, number):
    found = parts._parts(tf.constant(counts, tf.int32)).numpy()
    assert len(found) == number
    rows = found[found < len(counts)]
    assert sorted(rows) == list(range(len(counts)))


def test_parts_have_about_as_many_tokens():
    counts = np.random.default_rng(0).integers(5, 60, 64)
    found = parts._parts(tf.constant(counts, tf.int32)).numpy()
    tokens = np.append(counts, 0)[found].sum(1)
    assert tokens.max() < 1.2 * tokens.mean()


@pytest.mark.parametrize("counts", [[], [7], [3, 0, 24, 9, 1], [5, 24] * 9])
@pytest.mark.parametrize("packed", [False, True])
def test_equals_the_call(monkeypatch, counts, packed):
    monkeypatch.setattr(parts, "FEWEST", 8)
    monkeypatch.setattr(parts, "MOST", 16)
    encoder = make_blocks(tiny.config(), hidden_states=True)
    mask = mask_of(counts)
    ids = np.arange(24) // 4 * np.ones([len(counts), 1], int) if packed else None
    x = np.random.default_rng(0).normal(size=(*mask.shape, 16)).astype("float32")
    expected = encoder(tf.constant(x), tf.constant(mask), ids)
    rows_in_parts = functools.partial(parts.rows_in_parts, encoder.call)
    call = tf.function(rows_in_parts, autograph=False)
    found = call(tf.constant(x), tf.constant(mask), None if ids is None else ids)
    assert len(found["hidden_states"]) == 3
    tf.nest.map_structure(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), found, expected
    )


def test_without_a_mask_nothing_is_split():
    encoder = make_blocks(tiny.config())
    x = tf.ones([2, 24, 16])
    expected = encoder(x)["sequence_output"]
    found = parts.rows_in_parts(encoder.call, x)["sequence_output"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
