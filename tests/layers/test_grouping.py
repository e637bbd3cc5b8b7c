"""Several texts a row: apart, and together again."""

import keras
import numpy as np
import pytest

from keras_bert_lite.layers.grouping import AnyToken, FlattenGroups, RestoreGroups
from tests.conformance import (
    apply,
    check_clone,
    check_config,
    check_symbolic,
    one_layer_model,
    to_numpy,
)

IDS = np.arange(24, dtype="int32").reshape(2, 3, 4)
MASK = np.array([[[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]]], "bool")
VECTORS = np.random.default_rng(0).normal(size=(6, 5)).astype("float32")


@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        (FlattenGroups(), {"x": IDS}),
        (RestoreGroups(), {"x": VECTORS, "like": IDS}),
        (RestoreGroups(), {"x": VECTORS[:, :1], "like": IDS}),
        (AnyToken(), {"padding_mask": MASK}),
    ],
)
def test_conforms(layer, inputs):
    expected = apply(layer, inputs)
    check_config(layer, inputs, {}, expected)
    check_symbolic(layer, inputs, {}, expected)
    check_clone(one_layer_model(layer, inputs), inputs)


def test_each_choice_becomes_a_row():
    assert to_numpy(FlattenGroups()(IDS)).tolist() == [
        x for y in IDS.tolist() for x in y
    ]


def test_rows_become_choices_again():
    found = to_numpy(RestoreGroups()(VECTORS, IDS))
    assert np.array_equal(found, VECTORS.reshape(2, 3, 5))
    assert np.array_equal(to_numpy(RestoreGroups()(FlattenGroups()(IDS), IDS)), IDS)


def test_single_scores_lose_their_axis():
    found = to_numpy(RestoreGroups()(VECTORS[:, :1], IDS))
    assert np.array_equal(found, VECTORS[:, 0].reshape(2, 3))


def test_choices_with_a_token():
    expected = [[True, False], [True, True]]
    assert to_numpy(AnyToken()(MASK)).tolist() == expected
    assert to_numpy(AnyToken()(MASK.astype("int32"))).tolist() == expected


def test_no_rows():
    empty = np.zeros((0, 3, 4), "int32")
    assert FlattenGroups()(empty).shape == (0, 4)
    joined = RestoreGroups()(np.zeros((0, 5), "float32"), empty)
    assert tuple(joined.shape) == (0, 3, 5)


@pytest.mark.parametrize("shape", [(None, None, None), (2, None, 4), (2, 3, 4)])
def test_symbols(shape):
    like = keras.KerasTensor(shape, "int32")
    rows = FlattenGroups()(like)
    assert rows.shape == (6 if None not in shape[:2] else None, shape[2])
    assert RestoreGroups()(keras.KerasTensor((None, 7)), like).shape == (*shape[:2], 7)
    assert AnyToken()(keras.KerasTensor(shape, "bool")).shape == shape[:2]
