"""A learned mix of layers."""

import numpy as np
import pytest

from keras_bert_lite import layers
from tests import formulas
from tests.conformance import assert_all_close, check_layer
from tests.layers.samples import STATES

INPUTS = [STATES, STATES[::-1].copy(), 2 * STATES]


def test_conforms():
    check_layer(layers.LayerMix, {"states": INPUTS})


def test_is_the_scaled_sum_by_a_softmax():
    layer = layers.LayerMix()
    assert_all_close(layer(INPUTS), np.mean(INPUTS, axis=0))
    scores = np.array([0.5, -1.0, 2.0], "float32")
    layer.set_weights([scores, np.float32(3.0)])
    shares = formulas.softmax(scores, axis=0)
    assert_all_close(layer.shares(), shares)
    assert_all_close(layer(INPUTS), 3 * np.tensordot(shares, INPUTS, 1))


@pytest.mark.parametrize("states", [STATES, [STATES, STATES[:, :1]]])
def test_refuses_what_is_no_list_of_one_shape(states):
    with pytest.raises(ValueError, match="`states` must be a list"):
        layers.LayerMix()(states)
