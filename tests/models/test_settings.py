"""Settings of an encoder reach the compiled models around it."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.layers import Encoder, EncoderBlock
from keras_bert_lite.models.encoder_model import check_plain_weights, encoder_layers
from tests import tiny
from tests.training.samples import (
    INPUTS,
    LOSS,
    TARGETS,
    changed,
    compiled,
    values,
)

FUNCTIONS = ("train_function", "test_function", "predict_function")


def blocks_of(encoder):
    return encoder_layers(encoder)[1]


SETTINGS = {
    "checkpointing": lambda encoder: kbl.tuning.set_gradient_checkpointing(encoder),
    "unpadding": lambda encoder: kbl.set_unpadding(encoder, False),
    "freeze": lambda encoder: kbl.tuning.freeze(encoder, 1),
    "lora": lambda encoder: kbl.tuning.enable_lora(encoder, 2),
    "dropout": lambda encoder: kbl.tuning.set_fast_dropout(encoder, False),
    "attribute unpadding": lambda x: setattr(blocks_of(x), "unpadding", False),
    "attribute gradient_checkpointing": lambda x: setattr(
        blocks_of(x), "gradient_checkpointing", True
    ),
    "attribute implementation": lambda x: setattr(
        blocks_of(x).blocks[0].attention, "implementation", "plain"
    ),
}


class Trainer(keras.Model):
    """A model of a user's own, around a model around an encoder."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def call(self, inputs):
        return self.model(inputs)


def own_model(encoder):
    inputs = dict(encoder.input)
    x = encoder(inputs)["pooled_output"]
    return keras.Model(inputs, keras.layers.Dense(2)(x))


@pytest.mark.parametrize("setting", SETTINGS)
def test_compiled_functions_of_models_around_are_discarded(setting):
    encoder = tiny.encoder()
    inner = own_model(encoder)
    around = [inner, Trainer(inner), kbl.text_classifier(encoder, ["a", "b"])]
    other = own_model(tiny.encoder())
    for model in (*around, other):
        for name in FUNCTIONS:
            setattr(model, name, print)
    SETTINGS[setting](encoder)
    for model in around:
        assert print not in [getattr(model, name) for name in FUNCTIONS]
    assert [getattr(other, name) for name in FUNCTIONS] == [print] * 3


def test_what_does_not_change_discards_nothing():
    encoder = tiny.encoder()
    encoder.train_function = print
    blocks_of(encoder).unpadding = "auto"
    blocks_of(encoder).gradient_checkpointing = False
    assert encoder.train_function is print


@pytest.mark.tensorflow(reason="of the compiled step of TensorFlow")
@pytest.mark.parametrize("name", ["checkpointing", "attribute gradient_checkpointing"])
def test_checkpointing_reaches_a_model_that_ran_a_fit(name, monkeypatch):
    encoder = tiny.encoder(num_layers=1)
    model = own_model(encoder)
    model.compile(keras.optimizers.SGD(0.1), LOSS)
    model.fit(INPUTS, TARGETS, verbose=0)
    calls, recomputed = [], EncoderBlock.recomputed
    monkeypatch.setattr(
        EncoderBlock,
        "recomputed",
        lambda *x, **y: calls.append(1) or recomputed(*x, **y),
    )
    SETTINGS[name](encoder)
    model.fit(INPUTS, TARGETS, verbose=0)
    assert calls


@pytest.mark.tensorflow(reason="of the compiled step of TensorFlow")
def test_frozen_weights_stay_where_they_are_in_a_model_that_ran_a_step():
    encoder = tiny.encoder()
    model = own_model(encoder)
    model.compile(keras.optimizers.SGD(0.5), LOSS)
    model.train_on_batch(INPUTS, TARGETS)
    kbl.tuning.freeze(encoder, 2)
    block = encoder_layers(encoder)[1].blocks[1]
    before = block.get_weights()
    model.train_on_batch(INPUTS, TARGETS)
    for x, y in zip(before, block.get_weights(), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.tensorflow(reason="of the compiled step of TensorFlow")
def test_lora_in_a_model_that_ran_a_fit_asks_for_another_optimizer():
    encoder = tiny.encoder(num_layers=1)
    model = own_model(encoder)
    batch = {"x": INPUTS, "y": TARGETS, "verbose": 0}
    model.compile(keras.optimizers.SGD(0.5), LOSS)
    model.fit(**batch)
    kbl.tuning.enable_lora(encoder, 4)
    before = values(model)
    with pytest.raises(ValueError, match=r"(?s)lora_kernel_a.* new optimizer"):
        model.fit(**batch)
    assert not changed(before, values(model))
    compiled(model, keras.optimizers.SGD(0.5)).fit(**batch, epochs=2)
    moved = changed(before, values(model))
    assert {"lora_kernel_a", "lora_kernel_b"} <= {x.split("/")[-1] for x in moved}
    trainable = [*encoder.trainable_weights, *model.layers[-1].weights]
    assert moved <= {x.path for x in trainable}


@pytest.mark.parametrize("choice", [1, 0, "yes", None])
def test_refuses_another_unpadding(choice):
    with pytest.raises(ValueError, match=f"`unpadding` must be .*Received: {choice!r}"):
        Encoder(1, 2, 8, unpadding=choice)


def test_refuses_ranks_above_the_width():
    encoder = tiny.encoder()
    with pytest.raises(ValueError, match=r"`rank` must be at most 16, .* Received: 17"):
        kbl.tuning.enable_lora(encoder, 17)
    assert len(encoder.trainable_weights) == len(encoder.weights)  # nothing is frozen


def test_what_refuses_lora_names_what_merges_it():
    encoder = tiny.encoder()
    kbl.tuning.enable_lora(encoder, 16)
    with pytest.raises(ValueError, match=r"tuning.merge_lora\(model\)"):
        check_plain_weights(encoder)
