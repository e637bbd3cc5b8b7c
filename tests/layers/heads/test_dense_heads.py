"""Heads."""

import functools

import numpy as np
import pytest

from keras_bert_lite import layers
from tests import formulas
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import PADDING_MASK, STATES

make = functools.partial(
    layers.ClassificationHead, ["no", "yes", "perhaps"], initializer_range=0.2
)


def test_on_sequences_conforms():
    check_layer(make, {"x": STATES})


@pytest.mark.parametrize("x", [STATES[:, 0], STATES], ids=["pooled", "sequence"])
def test_equals_the_formula(x):
    layer = make()
    assert layer(x).shape == (*x.shape[:-1], 3)
    randomize(layer)
    assert_all_close(layer(x), formulas.dense(layer.dense, x))


def test_drops_out_in_training_only():
    layer = make(dropout=0.9)
    expected = to_numpy(layer(STATES))
    assert_all_close(layer(STATES, training=False), expected)
    assert not np.allclose(to_numpy(layer(STATES, training=True)), expected)


@pytest.mark.parametrize("labels", [[], ["no", "no"], ("a", "b", "a")])
def test_refuses_labels_that_are_not_different(labels):
    with pytest.raises(ValueError, match="`labels` must be at least one name"):
        layers.ClassificationHead(labels)


@pytest.mark.parametrize("label", ["", " ", "bad\0", "a\nb", "\x85"])
def test_refuses_labels_that_are_lost_in_writing(label):
    with pytest.raises(ValueError, match=r"not empty, without control.*Received: '"):
        layers.ClassificationHead(["good", label])


@pytest.mark.parametrize("labels", ["ab", [0, 1], ["no", None], 3, None])
def test_refuses_labels_that_are_not_names(labels):
    with pytest.raises(TypeError, match="`labels` must be a list of strings"):
        layers.ClassificationHead(labels)


@pytest.mark.parametrize("dropout", [1.0, -0.5, "0.1"])
def test_refuses_rates_out_of_range(dropout):
    with pytest.raises(ValueError, match=r"`dropout` must be in \[0, 1\). Received: "):
        make(dropout=dropout)


HIDDEN = {
    "hidden_activation": "gelu",
    "hidden_dropout": 0.0,
    "hidden_bias": False,
    "hidden_norm": {"epsilon": 1e-3, "center": False},
}


def test_a_normalized_hidden_layer_conforms():
    check_layer(functools.partial(make, **HIDDEN), {"x": STATES})


def test_a_normalized_hidden_layer_equals_the_formula():
    layer = make(**HIDDEN)
    layer.build(STATES.shape)
    randomize(layer)
    assert layer.hidden_dense.bias is None
    hidden = formulas.gelu(formulas.dense(layer.hidden_dense, STATES))
    hidden = formulas.layer_norm(layer.hidden_norm, hidden)
    assert_all_close(layer(STATES), formulas.dense(layer.dense, hidden))


def test_refuses_a_hidden_bias_that_is_no_switch():
    with pytest.raises(ValueError, match="`hidden_bias` must be True or False"):
        make(hidden_bias=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden_norm": {}}, "`hidden_norm` must be None without `hidden_activation`"),
        ({"initializer_range": -1}, "`initializer_range` must be a positive number"),
        ({"hidden_dropout": 1.0}, r"`hidden_dropout` must be in .*: 1.0"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_the_mask_of_a_span_head_comes_second():
    layer = layers.SpanHead()
    assert_all_close(
        layer(STATES, PADDING_MASK), layer(STATES, padding_mask=PADDING_MASK)
    )
