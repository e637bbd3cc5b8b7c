"""Self-attention."""

import numpy as np
import pytest

from keras_bert_lite import layers
from tests import formulas
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import PADDING_MASK, SEQUENCE_IDS, STATES, maker

make = maker(layers.SelfAttention)
SAME_SEQUENCE = SEQUENCE_IDS[:, :, None] == SEQUENCE_IDS[:, None, :]


def test_with_weights_conforms():
    inputs = {"x": STATES, "padding_mask": PADDING_MASK}
    check_layer(make, inputs, call={"return_weights": True})


def random_layer(**kwargs) -> layers.SelfAttention:
    layer = make(**kwargs)
    layer(STATES)
    randomize(layer)
    return layer


@pytest.mark.parametrize(
    ("masks", "allowed"),
    [
        ({}, np.ones((2, 1, 5), "bool")),
        ({"padding_mask": PADDING_MASK}, PADDING_MASK[:, None, :]),
        ({"sequence_ids": SEQUENCE_IDS}, SAME_SEQUENCE),
    ],
    ids=["unmasked", "padding", "packed"],
)
def test_equals_the_formula(masks, allowed):
    layer = random_layer()
    outputs = layer(STATES, return_weights=True, **masks)
    assert_all_close(outputs, formulas.attention(layer, STATES, allowed))


def test_packed_sequences_do_not_see_each_other():
    layer = random_layer()
    packed = to_numpy(layer(STATES[:1], sequence_ids=SEQUENCE_IDS[:1]))
    assert_all_close(packed[:, :2], layer(STATES[:1, :2]))
    assert_all_close(packed[:, 2:], layer(STATES[:1, 2:]))


def test_packing_and_padding_combine():
    layer = random_layer()
    mask = np.array([[1, 1, 1, 1, 0]], "bool")
    ids = np.array([[0, 0, 1, 1, 1]], "int32")
    packed = to_numpy(layer(STATES[:1], padding_mask=mask, sequence_ids=ids))
    assert_all_close(packed[:, 2:4], layer(STATES[:1, 2:4]))


def test_weights_are_shares_of_the_real_positions():
    layer = random_layer()
    _, weights = layer(STATES, padding_mask=PADDING_MASK, return_weights=True)
    weights = to_numpy(weights)
    assert weights.shape == (2, 2, 5, 5)
    assert_all_close(weights.sum(axis=-1), np.ones((2, 2, 5)))
    assert np.all(weights[0, :, :, 3:] == 0)
    assert np.all(weights[0, :, :, :3] > 0)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_a_row_of_padding_stays_finite(policy):
    layer = random_layer(dtype=policy)
    mask = np.array([[0] * 5, [1] * 5], "bool")
    output, weights = layer(STATES, padding_mask=mask, return_weights=True)
    assert np.all(np.isfinite(to_numpy(output)))
    assert np.all(np.isfinite(to_numpy(weights)))
    assert_all_close(weights[0], np.full((2, 5, 5), 0.2), tolerance=1e-2)


def test_large_scores_stay_finite_in_float16():
    layer = random_layer(dtype="mixed_float16")
    output = layer(30 * STATES, padding_mask=PADDING_MASK)
    assert np.all(np.isfinite(to_numpy(output)))


def test_drops_out_in_training_only():
    layer = random_layer(attention_dropout=0.9)
    expected = to_numpy(layer(STATES))
    assert_all_close(layer(STATES, training=False), expected)
    assert not np.allclose(to_numpy(layer(STATES, training=True)), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_heads": 3}, "`num_heads` must divide `hidden_dim`.*num_heads=3, hidd"),
        ({"num_heads": 0}, "`num_heads` must be a positive integer. Received: 0"),
        ({"hidden_dim": "8"}, "`hidden_dim` must be a positive integer. Rec.*: '8'"),
        ({"attention_dropout": 1.0}, r"`attention_dropout` must be in .*: 1.0"),
        ({"layer": -1}, "`layer` must be a whole number, 0 or more. Received: -1"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize("shape", [(2, 5, 6), (5, 8), (2, 5, 1, 8)])
def test_refuses_inputs_of_another_shape(shape):
    with pytest.raises(ValueError, match=r"`x` must have the shape .*, 8.* Received: "):
        make()(np.ones(shape, "float32"))


def test_refuses_another_configuration():
    with pytest.raises(TypeError, match=r"`config` must be an .* Received: 'bert'"):
        layers.SelfAttention("bert")
