"""Pooling."""

import functools

import keras
import numpy as np
import pytest

from keras_bert_lite import layers
from keras_bert_lite.config import POOLINGS
from tests import formulas
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import HIDDEN, PADDING_MASK, STATES

INPUTS = {"x": STATES, "padding_mask": PADDING_MASK}


@pytest.mark.parametrize("pooling", ["cls_dense", "attention"])
def test_with_weights_conforms(pooling):
    make = functools.partial(layers.Pooler, pooling, initializer_range=0.2)
    without_gradient = ("dense/bias",) if pooling == "attention" else ("none",)
    check_layer(make, INPUTS, without_gradient=without_gradient)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "weighted_mean", "last"])
def test_without_weights_conforms(pooling):
    check_layer(functools.partial(layers.Pooler, pooling), INPUTS)


def random_layer(pooling, **kwargs) -> layers.Pooler:
    layer = layers.Pooler(pooling, **kwargs)
    layer(STATES)
    randomize(layer)
    return layer


def real_positions(row: int) -> np.ndarray:
    return STATES[row][PADDING_MASK[row]]


def test_cls_is_the_first_token():
    assert_all_close(layers.Pooler("cls")(**INPUTS), STATES[:, 0])


def test_cls_dense_is_dense_and_tanh():
    layer = random_layer("cls_dense")
    expected = np.tanh(formulas.dense(layer.dense, STATES[:, 0]))
    assert_all_close(layer(**INPUTS), expected)


@pytest.mark.parametrize(("pooling", "function"), [("mean", np.mean), ("max", np.max)])
def test_mean_and_max_are_of_the_real_positions(pooling, function):
    expected = [function(real_positions(row), axis=0) for row in (0, 1)]
    assert_all_close(layers.Pooler(pooling)(**INPUTS), np.stack(expected))


def test_attention_weighs_the_real_positions():
    layer = random_layer("attention")
    expected = []
    for row in (0, 1):
        x = real_positions(row)
        shares = formulas.softmax(formulas.dense(layer.dense, x), axis=0)
        expected.append((shares * x).sum(axis=0))
    assert_all_close(layer(**INPUTS), np.stack(expected))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_an_absent_mask_means_all_real(pooling):
    layer = random_layer(pooling)
    everything = np.ones((2, 5), "bool")
    assert_all_close(layer(STATES), layer(STATES, padding_mask=everything))


def test_sums_and_the_last_position():
    """The real positions need not come first."""
    mask = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 0, 0]], "bool")
    rows = [x[m] for x, m in zip(STATES, mask, strict=True)]
    places = [np.arange(1, 6)[m] for m in mask]
    expected = {
        "mean_sqrt_len": [x.sum(0) / np.sqrt(len(x)) for x in rows],
        "weighted_mean": [
            np.average(x, 0, w) for x, w in zip(rows, places, strict=True)
        ],
        "last": [x[-1] for x in rows],
    }
    for pooling, vectors in expected.items():
        pooled = layers.Pooler(pooling)(STATES, padding_mask=mask)
        assert_all_close(pooled, np.stack(vectors))


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize(
    "pooling", ["mean", "max", "attention", "mean_sqrt_len", "weighted_mean", "last"]
)
def test_a_row_of_padding_pools_to_zeros(pooling, policy):
    layer = random_layer(pooling, dtype=policy)
    pooled = to_numpy(layer(STATES, padding_mask=np.zeros((2, 5), "bool")))
    assert np.array_equal(pooled, np.zeros((2, HIDDEN)))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_nan_at_padding_stays_there(pooling):
    x = np.where(PADDING_MASK[:, :, None], STATES, np.float32("nan"))
    layer = random_layer(pooling)
    assert_all_close(layer(x, padding_mask=PADDING_MASK), layer(**INPUTS))


@pytest.mark.parametrize("pooling", ["first", None, 1])
def test_refuses_unknown_poolings(pooling):
    with pytest.raises(ValueError, match=f"`pooling` must be one of .*{pooling!r}"):
        layers.Pooler(pooling)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_refuses_inputs_that_are_no_sequence(pooling):
    with pytest.raises(ValueError, match="`x` must have the shape"):
        layers.Pooler(pooling)(np.ones((2, HIDDEN), "float32"))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_greatest_of_low_numbers(dtype):
    x = np.array([[[-3.0, -5000.0], [-2.0, -6000.0], [0.0, 0.0]]])
    mask = np.array([[True, True, False]])
    found = layers.Pooler("max", dtype=dtype)(
        keras.ops.cast(x, dtype), padding_mask=mask
    )
    found = keras.ops.convert_to_numpy(keras.ops.cast(found, "float32"))
    np.testing.assert_allclose(found, [[-2.0, -5000.0]], rtol=1e-2)


def test_refuses_another_initializer_range():
    with pytest.raises(ValueError, match="`initializer_range` must be a positive"):
        layers.Pooler(initializer_range=-1)
