"""Dropout masks of 8 bits an element."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite._private import sublayers
from keras_bert_lite.layers.dropout import Dropout
from tests import tiny
from tests.training.samples import INPUTS, TARGETS

BACKEND = keras.backend.backend()
under_jax = pytest.mark.skipif(BACKEND != "jax", reason="needs the JAX backend")


@pytest.mark.skipif(BACKEND == "jax", reason="is for other backends")
def test_needs_jax():
    with pytest.raises(NotImplementedError, match=r"JAX.*Received: True, under"):
        kbl.tuning.set_fast_dropout(tiny.classifier())
    kbl.tuning.set_fast_dropout(tiny.classifier(), False)


def test_refuses_what_it_cannot_set():
    with pytest.raises(TypeError, match=r"True or False. Received: 1"):
        kbl.tuning.set_fast_dropout(tiny.classifier(), 1)
    plain = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match=r"encoder with dropout. Received: <Seq"):
        kbl.tuning.set_fast_dropout(plain, False)


@under_jax
@pytest.mark.parametrize(("rate", "dropped"), [(0.1, 26), (0.001, 1), (0.999, 255)])
def test_rates_are_rounded_to_a_256th(rate, dropped):
    layer = Dropout(rate, seed=0)
    layer.fast = True
    outputs = keras.ops.convert_to_numpy(layer(np.ones((400, 400)), training=True))
    assert np.mean(outputs == 0) == pytest.approx(dropped / 256, abs=0.005)
    np.testing.assert_allclose(outputs[outputs > 0], 256 / (256 - dropped), rtol=1e-6)
    np.testing.assert_array_equal(layer(np.ones(3)), 1)


@under_jax
def test_trains_and_draws_anew():
    model = tiny.classifier(num_layers=1, dropout=0.5, attention_dropout=0.5)
    kbl.tuning.set_fast_dropout(model)
    found = [x for x in sublayers(model) if isinstance(x, Dropout)]
    assert all(x.fast for x in found)
    first, second = (np.asarray(found[0].kept((100,))) for _ in range(2))
    assert (first != second).any()
    kbl.compile(model)
    assert np.isfinite(model.train_on_batch(INPUTS, TARGETS)[0])
