"""The convolution over tokens."""

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
    config = layer.config
    half = config.convolution_size // 2
    part = config.hidden_dim // config.convolution_groups
    output = np.zeros_like(x) + bias
    for position in range(x.shape[1]):
        for offset in range(-half, half + 1):
            if not 0 <= position + offset < x.shape[1]:
                continue
            for first in range(0, config.hidden_dim, part):
                group = slice(first, first + part)
                seen = x[:, position + offset, group]
                output[:, position, group] += seen @ kernel[offset + half, :, group]
    output = formulas.ACTIVATIONS[config.convolution_activation](output)
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


def test_drops_out_in_training_only():
    layer = random_layer(dropout=0.9)
    expected = to_numpy(layer(**INPUTS))
    assert_all_close(layer(**INPUTS, training=False), expected)
    assert not np.allclose(to_numpy(layer(**INPUTS, training=True)), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"convolution_size": 2}, "`convolution_size` must be odd.* Received: 2"),
        ({"convolution_size": 0}, "`convolution_size` must be a pos.* Received: 0"),
        ({"convolution_groups": 3}, "must divide `hidden_dim`.*groups=3, hidden_dim=8"),
        ({"convolution_activation": "swish"}, "`convolution_activation` must .*swish"),
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


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_batches_without_tokens(shape):
    x = np.zeros((*shape, STATES.shape[-1]), "float32")
    assert random_layer()(x, x, padding_mask=np.zeros(shape, "bool")).shape == x.shape
