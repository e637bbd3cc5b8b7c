"""Keras layers on an encoder's outputs: they ignore padding, by Keras's mask."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite._private import keras_mask
from tests import tiny
from tests.conformance import assert_all_close, randomize, to_numpy
from tests.models.samples import ids, padded

LABELS = ["O", "B-X", "I-X"]
CHOICES = (False, True if keras.backend.backend() == "tensorflow" else "auto")


def random_encoder() -> keras.Model:
    encoder = kbl.encoder(tiny.config(pooling=None), hidden_states=True)
    randomize(encoder)
    return encoder


def own_heads(encoder: keras.Model, nested: bool) -> keras.Model:
    """Layers of all kinds that read a mask."""
    inputs = encoder.input
    states = encoder(inputs) if nested else encoder.output
    x, mixed = states["sequence_output"], kbl.layers.LayerMix()(states["hidden_states"])
    # Of its own: `MultiHeadAttention` takes the mask off the tensors that it is given.
    y = states["hidden_states"][1]
    average = keras.layers.GlobalAveragePooling1D()
    outputs = {
        "average": average(keras.layers.Dropout(0.1)(x)),
        "recurrent": keras.layers.LSTM(3)(x),
        "mixed": average(kbl.layers.DenseHead(3, initializer_range=0.5)(mixed)),
        "pooled": kbl.layers.Pooler("max")(x),
        "block": kbl.layers.Pooler("mean")(kbl.layers.EncoderBlock(2, 32)(x)),
        "attention": average(keras.layers.MultiHeadAttention(2, 4)(y, y)),
    }
    return keras.Model(inputs, outputs)


def short_row(inputs):
    return {name: x[1:, :3] for name, x in inputs.items()}


def second_row(outputs):
    return keras.tree.map_structure(lambda x: to_numpy(x)[1:], outputs)


@pytest.mark.parametrize(("nested", "unpadding"), list(enumerate(CHOICES)))
def test_a_row_alone_gives_what_it_gives_beside_a_longer_one(
    nested, unpadding, tmp_path
):
    encoder = random_encoder()
    kbl.set_unpadding(encoder, unpadding)
    model, inputs = own_heads(encoder, nested), ids()
    expected = second_row(model(inputs))
    assert_all_close(model(short_row(inputs)), expected)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    longer = padded(inputs, 3)
    assert_all_close(second_row(loaded.predict_on_batch(longer)), expected)
    assert_all_close(second_row(clone(longer)), expected)


@pytest.mark.parametrize("unpadding", CHOICES)
def test_states_carry_the_padding_mask_and_nothing_else_does(unpadding):
    config = tiny.config()
    inputs = ids()
    plain = kbl.encoder(config, hidden_states=True, unpadding=unpadding)
    # Attention weights need padded rows.
    maps = kbl.encoder(config, hidden_states=True, attentions=True)
    for encoder in (plain, maps):
        outputs = encoder(inputs)
        states = [outputs["sequence_output"], *outputs["hidden_states"]]
        for state in states:
            assert (to_numpy(keras_mask(state)) == inputs["padding_mask"]).all()
        others = [outputs["pooled_output"], *outputs.get("attentions", ())]
        assert all(keras_mask(x) is None for x in others)
    symbols = plain.output
    for state in (symbols["sequence_output"], *symbols["hidden_states"]):
        assert keras_mask(state) is plain.input["padding_mask"]


def test_without_a_padding_mask_there_is_none():
    layer = kbl.layers.Encoder(2, 2, 32)
    outputs = layer(np.ones((2, 3, 16), "float32"))
    assert keras_mask(outputs["sequence_output"]) is None


TASKS = {
    "tags": lambda encoder: kbl.token_classifier(encoder, LABELS),
    "crf": lambda encoder: kbl.token_classifier(encoder, LABELS, crf=True),
    "slots": lambda encoder: kbl.intent_and_slot_classifier(
        encoder, ["a", "b"], LABELS
    ),
    "answers": kbl.question_answerer,
    "words": kbl.masked_lm,
    "mean of logits": lambda encoder: kbl.text_classifier(
        encoder, ["a", "b"], pooling="late"
    ),
    "vectors": kbl.sentence_encoder,
}


@pytest.mark.parametrize("task", TASKS)
def test_outputs_of_tasks_carry_no_mask(task):
    """Keras's losses would weigh tokens by it, besides the targets' own weights."""
    outputs = TASKS[task](tiny.encoder())(ids())
    assert all(keras_mask(x) is None for x in outputs.values())
