"""Attention in one kernel, set on models."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite._private import sublayers
from tests import tiny
from tests.simulated_devices import printed

BACKEND = keras.backend.backend()
under_jax = pytest.mark.skipif(BACKEND != "jax", reason="needs the JAX backend")


@pytest.mark.skipif(BACKEND == "jax", reason="is for other backends")
def test_needs_jax():
    with pytest.raises(NotImplementedError, match=r"JAX.*Received: True, under"):
        kbl.tuning.set_fused_attention(tiny.classifier())
    kbl.tuning.set_fused_attention(tiny.classifier(), False)


def test_refuses_what_it_cannot_set():
    with pytest.raises(TypeError, match=r"True or False. Received: 1"):
        kbl.tuning.set_fused_attention(tiny.classifier(), 1)
    plain = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match=r"have an encoder. Received: <Seq"):
        kbl.tuning.set_fused_attention(plain, False)


@under_jax
@pytest.mark.parametrize(
    "part",
    [
        {"relative_bias": kbl.config.RelativeBias()},
        {"relative_positions": kbl.config.RelativePositions(max_distance=8)},
    ],
)
def test_refuses_scores_with_other_parts(part):
    with pytest.raises(ValueError, match=rf"Received: {next(iter(part))}="):
        kbl.tuning.set_fused_attention(tiny.classifier(**part))


def attends_by(model):
    layers = (x for x in sublayers(model) if isinstance(x, kbl.layers.SelfAttention))
    return {layer.implementation for layer in layers}


def trained(**options):
    """The losses of a model on rows of 128 tokens."""
    keras.utils.set_random_seed(0)
    changes = {"attention_dropout": 0.5, "max_sequence_length": 128, **options}
    model = tiny.classifier(initializer_range=0.3, num_layers=1, **changes)
    kbl.tuning.set_fused_attention(model)
    kbl.compile(model, learning_rate=1e-2)
    random = np.random.default_rng(0)
    inputs = {
        "token_ids": random.integers(5, 40, (16, 128), "int32"),
        "segment_ids": np.zeros((16, 128), "int32"),
        "padding_mask": np.arange(128) < random.integers(1, 129, (16, 1)),
    }
    targets = random.integers(0, 2, 16)
    options = {"batch_size": 8, "epochs": 2, "shuffle": False, "verbose": 0}
    return model, model.fit(inputs, targets, **options).history["loss"]


@under_jax
def test_trains_with_its_own_masks():
    model, losses = trained()
    assert attends_by(model) == {"kernel"}
    assert losses == trained()[1]
    assert losses != trained(attention_dropout=0.0)[1]
    assert attends_by(keras.models.clone_model(model)) == {"kernel"}
    kbl.tuning.set_fused_attention(model, False)
    assert attends_by(model) == {"auto"}


@under_jax
def test_gradient_checkpointing_draws_the_same_masks():
    """The backward pass computes the kernel's inputs again."""
    losses = []
    for choice in (False, True):
        keras.utils.set_random_seed(0)
        model = tiny.classifier(attention_dropout=0.5, max_sequence_length=128)
        kbl.tuning.set_fused_attention(model)
        kbl.tuning.set_gradient_checkpointing(model, choice)
        kbl.compile(model, learning_rate=1e-2)
        inputs = {
            "token_ids": np.arange(256).reshape(2, 128) % 30,
            "segment_ids": np.zeros((2, 128), "int32"),
            "padding_mask": np.ones((2, 128), bool),
        }
        targets = np.array([0, 1])
        options = {"epochs": 3, "shuffle": False, "verbose": 0}
        losses.append(model.fit(inputs, targets, **options).history["loss"])
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.parity
def test_devices_draw_the_masks_of_one():
    """Eight simulated devices: rows split by 8, and by 4 with heads split by 2."""
    alone, *split = printed("tests.training.kernel_program")
    for losses in split:
        np.testing.assert_allclose(losses, alone, rtol=1e-6)
