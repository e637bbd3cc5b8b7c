"""The convolution over tokens."""

import functools

import numpy as np
import pytest

from keras_bert_lite.layers.token_convolution import TokenConvolution
from tests import formulas
from tests.conformance import (
    assert_all_close,
    check_compiled,
    check_layer,
    one_layer_model,
    randomize,
    to_numpy,
)
from tests.layers.samples import HIDDEN, PADDING_MASK, STATES

make = functools.partial(TokenConvolution, HIDDEN, initializer_range=0.2)
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
    half, part = layer.kernel_size // 2, layer.hidden_dim // layer.groups
    output = np.zeros_like(x) + bias
    for position in range(x.shape[1]):
        for offset in range(-half, half + 1):
            if not 0 <= position + offset < x.shape[1]:
                continue
            for first in range(0, layer.hidden_dim, part):
                group = slice(first, first + part)
                seen = x[:, position + offset, group]
                output[:, position, group] += seen @ kernel[offset + half, :, group]
    output = formulas.ACTIVATIONS[layer.activation](output)
    return formulas.layer_norm(layer.norm, residual + output) * mask[:, :, None]


@pytest.mark.parametrize("groups", [1, 2])
def test_conforms(groups):
    check_layer(functools.partial(make, groups=groups), INPUTS)


@pytest.mark.parametrize("size", [1, 3, 5, 7])
@pytest.mark.parametrize("groups", [1, 4])
def test_equals_the_formula(size, groups):
    layer = random_layer(kernel_size=size, groups=groups, activation="gelu")
    for mask in (PADDING_MASK, np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1]], "bool")):
        output = layer(STATES, residual=RESIDUAL, padding_mask=mask)
        assert_all_close(output, formula(layer, STATES, RESIDUAL, mask))


def test_without_a_mask_all_are_real():
    layer = random_layer()
    expected = formula(layer, STATES, RESIDUAL, np.ones((2, 5), "bool"))
    assert_all_close(layer(STATES, residual=RESIDUAL), expected)


def test_compiles():
    model = one_layer_model(random_layer(), INPUTS)
    check_compiled(model, INPUTS, to_numpy(model(INPUTS)))


def test_drops_out_in_training_only():
    layer = random_layer(dropout=0.9)
    expected = to_numpy(layer(**INPUTS))
    assert_all_close(layer(**INPUTS, training=False), expected)
    assert not np.allclose(to_numpy(layer(**INPUTS, training=True)), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": 2}, "`kernel_size` must be odd. Received: 2"),
        ({"kernel_size": 0}, "`kernel_size` must be a positive integer. Received: 0"),
        ({"groups": 3}, "`groups` must divide `hidden_dim`.*groups=3, hidden_dim=8"),
        ({"activation": "swish"}, "`activation` must be one of .* Received: 'swish'"),
        ({"dropout": 1.0}, r"`dropout` must be in \[0, 1\). Received: 1.0"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize("shape", [(2, 5, 6), (5, 8)])
def test_refuses_inputs_of_another_shape(shape):
    x = np.ones(shape, "float32")
    with pytest.raises(ValueError, match=r"`x` must have the shape .*, 8.* Received: "):
        make()(x, residual=x)
