"""The convolution over tokens."""

import keras
import numpy as np
import pytest

from keras_bert_lite.layers.token_convolution import TokenConvolution
from tests import formulas
from tests.conformance import (
    assert_all_close,
    check_layer,
    randomize,
    to_numpy,
)
from tests.layers.samples import PADDING_MASK, STATES, maker

make = maker(
    TokenConvolution,
    convolution_size=3,
    layer_norm_epsilon=1e-7,
)
RESIDUAL = np.flip(STATES).copy()
INPUTS = {"x": STATES, "residual": RESIDUAL, "padding_mask": PADDING_MASK}


def random_layer(**kwargs) -> TokenConvolution:
    layer = make(**kwargs)
    layer.build(STATES.shape)
    randomize(layer)
    return layer


def formula(layer, x, residual, mask):
    """One token, then one neighbour of it, at a time."""
    kernel, bias = (to_numpy(w) for w in layer.convolution.get_weights())
    x = x * mask[:, :, None]
    half = layer.kernel_size // 2
    width = x.shape[-1]
    part = width // layer.groups
    output = np.zeros_like(x) + bias
    for position in range(x.shape[1]):
        for offset in range(-half, half + 1):
            if not 0 <= position + offset < x.shape[1]:
                continue
            for first in range(0, width, part):
                group = slice(first, first + part)
                seen = x[:, position + offset, group]
                output[:, position, group] += seen @ kernel[offset + half, :, group]
    output = formulas.ACTIVATIONS[layer.activation](output)
    return formulas.layer_norm(layer.norm, residual + output) * mask[:, :, None]


def test_with_groups_conforms():
    check_layer(
        maker(TokenConvolution, convolution_size=3, convolution_groups=2), INPUTS
    )


@pytest.mark.parametrize("size", [1, 3, 5, 7])
@pytest.mark.parametrize("groups", [1, 4])
def test_equals_the_formula(size, groups):
    layer = random_layer(
        convolution_size=size,
        convolution_groups=groups,
        convolution_activation="gelu",
    )
    for mask in (PADDING_MASK, np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1]], "bool")):
        output = layer(STATES, residual=RESIDUAL, padding_mask=mask)
        assert_all_close(output, formula(layer, STATES, RESIDUAL, mask))


def test_without_a_mask_all_are_real():
    layer = random_layer()
    expected = formula(layer, STATES, RESIDUAL, np.ones((2, 5), "bool"))
    assert_all_close(layer(STATES, residual=RESIDUAL), expected)


def test_the_keras_mask_is_the_padding_mask():
    layer = random_layer()
    x = keras.layers.Masking()(STATES * PADDING_MASK[:, :, None])
    expected = layer(x, residual=RESIDUAL, padding_mask=PADDING_MASK)
    assert_all_close(layer(x, residual=RESIDUAL), expected)


def test_drops_out_in_training_only():
    layer = random_layer(dropout=0.9)
    expected = to_numpy(layer(**INPUTS))
    assert_all_close(layer(**INPUTS, training=False), expected)
    assert not np.allclose(to_numpy(layer(**INPUTS, training=True)), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"convolution_size": 2}, "`convolution_size` must be odd.* Received: 2"),
        ({"convolution_groups": 3}, "must divide `hidden_dim`.*groups=3, hidden_dim=8"),
        ({"convolution_activation": "swish"}, "`convolution_activation` must .*swish"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": 2}, "`kernel_size` must be odd. Received: 2"),
        ({"kernel_size": 0}, "`kernel_size` must be a positive integer. Received: 0"),
        ({"groups": 0}, "`groups` must be a positive integer. Received: 0"),
        ({"activation": "swish"}, "`activation` must be one of .*: 'swish'"),
        ({"dropout": -1}, "`dropout` must be in .*: -1"),
    ],
)
def test_refuses_arguments_of_the_layer(arguments, message):
    with pytest.raises(ValueError, match=message):
        TokenConvolution(**arguments)


def test_refuses_inputs_of_another_shape():
    x = np.ones((5, 8), "float32")
    with pytest.raises(ValueError, match=r"`x` must have the shape .* Received: "):
        make()(x, residual=x)
    with pytest.raises(ValueError, match=r"`groups` must divide the width of `x`"):
        TokenConvolution(groups=3)(STATES, residual=STATES)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_batches_without_tokens(shape):
    x = np.zeros((*shape, STATES.shape[-1]), "float32")
    assert random_layer()(x, x, padding_mask=np.zeros(shape, "bool")).shape == x.shape
