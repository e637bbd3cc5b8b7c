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
    ],
)
def test_configurations_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_heads": 0}, "`num_heads` must be a positive integer. Received: 0"),
        ({"num_key_value_heads": 3}, "`num_key_value_heads` must divide `num_heads`"),
        ({"window": 0}, "`window` must be a positive integer. Received: 0"),
        ({"dropout": 1.0}, r"`dropout` must be in .*: 1.0"),
        ({"use_bias": ["keys"]}, r"`use_bias` must be True, False or .*: \['keys'\]"),
        ({"use_bias": 1}, "`use_bias` must be True, False or a list .* Received: 1"),
        ({"initializer_range": 0}, "`initializer_range` must be a positive number"),
        ({"implementation": "flash"}, "`implementation` must be one of .*: 'flash'"),
        ({"rotary": {"base": -1.0}}, "`base` must be a positive number.*: -1.0"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        layers.SelfAttention(**{"num_heads": 2, **arguments})


def test_refuses_other_positions():
    with pytest.raises(TypeError, match=r"`rotary` must be `RotaryPositions`.*: 'yes'"):
        layers.SelfAttention(2, rotary="yes")
    with pytest.raises(TypeError, match=r"`rotary` must be .* \(base, scale, share\)"):
        layers.SelfAttention(2, rotary={"theta": 10.0})
    layer = layers.SelfAttention(2, rotary=layers.RotaryPositions())
    with pytest.raises(ValueError, match="`rotary` needs heads of an even size"):
        layer(np.ones((2, 5, 6), "float32"))


@pytest.mark.parametrize("shape", [(5, 8), (2, 5, 1, 8)])
def test_refuses_inputs_of_another_rank(shape):
    with pytest.raises(ValueError, match=r"`x` must have the shape .* Received: "):
        make()(np.ones(shape, "float32"))


def test_refuses_inputs_of_another_width():
    with pytest.raises(ValueError, match=r"`num_heads` must divide the width of `x`"):
        layers.SelfAttention(3)(STATES)
    layer = random_layer()
    with pytest.raises(ValueError, match=r"`x` must have the width 8. Rec.*\(2, 5, 6"):
        layer(STATES[..., :6])


@pytest.mark.parametrize("shape", [(2, 4), (5,), (2, 5, 5)])
@pytest.mark.parametrize("name", ["padding_mask", "sequence_ids"])
def test_refuses_masks_of_another_shape(name, shape):
    message = rf"`{name}` must have the shape .* of `x`, \(2, 5\)"
    with pytest.raises(ValueError, match=message):
        random_layer()(STATES, **{name: np.ones(shape, "int32")})


@pytest.mark.parametrize("choice", [False, True])
def test_a_window_narrower_than_the_row(choice):
    """In blocks, and in whole rows where weights are asked for."""
    layer = layers.SelfAttention(2, window=2, initializer_range=0.5)
    x = np.random.default_rng(1).normal(size=(2, 9, 8)).astype("float32")
    mask = np.arange(9) < np.array([[9], [6]])
    outputs = layer(x, padding_mask=mask, return_weights=choice)
    expected = formulas.attention(layer, x, mask[:, None, :])
    near = mask[..., None]
    if choice:
        assert_all_close(outputs[1], expected[1])
    output = outputs[0] if choice else outputs
    assert_all_close(to_numpy(output) * near, expected[0] * near)


def test_biases_are_added_to_the_scores():
    layer = random_layer()
    biases = np.random.default_rng(1).normal(size=(1, 2, 5, 5)).astype("float32")
    outputs = layer(
        STATES, padding_mask=PADDING_MASK, biases=biases, return_weights=True
    )
    allowed = PADDING_MASK[:, None, :]
    expected = formulas.attention(layer, STATES, allowed, biases=biases[0])
    assert_all_close(outputs, expected)
    assert_all_close(layer(STATES, PADDING_MASK, biases=biases), outputs[0])


@pytest.mark.parametrize("shape", [(5,), (2, 1, 1, 5), (1, 2, 5, 5)])
def test_biases_broadcast_to_the_scores(shape):
    layer = random_layer()
    biases = np.random.default_rng(1).normal(size=shape).astype("float32")
    full = np.broadcast_to(biases, (2, 2, 5, 5))
    assert_all_close(layer(STATES, biases=biases), layer(STATES, biases=full))


@pytest.mark.parametrize("shape", [(4,), (2, 3, 5, 5), (1, 2, 2, 5, 5)])
def test_refuses_biases_of_another_shape(shape):
    message = r"`biases` must broadcast to the scores, of shape \(2, 2, 5, 5\)"
    with pytest.raises(ValueError, match=message):
        random_layer()(STATES, biases=np.ones(shape, "float32"))
