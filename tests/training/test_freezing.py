"""Which layers of an encoder train."""

import keras
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.optimizers import bert_adamw
from tests import tiny
from tests.training.samples import (
    FAMILIES,
    INPUTS,
    TARGETS,
    changed,
    classifier,
    compiled,
    values,
)

EMBEDDINGS = {"embeddings"}
BLOCKS = ["blocks/block_0", "blocks/block_1", "blocks/block_2"]
HEAD = {"pooler", "head"}


def parts(paths):
    """The layers that weights are of."""
    paths = [path.split("/") for path in paths]
    return {"/".join(path[: 2 if path[0] == "blocks" else 1]) for path in paths}


def training(model):
    return parts(values(model, trainable=True))


def frozen_model(num_layers=1, embeddings=True):
    model = classifier(num_layers=3)
    freeze(model, num_layers, embeddings)
    return model


@pytest.mark.parametrize("num_layers", range(4))
@pytest.mark.parametrize("embeddings", [False, True])
def test_freezes_the_lowest_layers(num_layers, embeddings):
    expected = {*HEAD, *BLOCKS[num_layers:], *(() if embeddings else EMBEDDINGS)}
    assert training(frozen_model(num_layers, embeddings)) == expected


def test_thaws():
    model = frozen_model(2)
    freeze(model, 1, embeddings=False)
    assert training(model) == {*EMBEDDINGS, *BLOCKS[1:], *HEAD}
    kbl.encoder_of(model).trainable = False
    freeze(model, 0, embeddings=False)
    assert len(model.trainable_weights) == len(model.weights)


def test_fit_leaves_frozen_weights_as_they_are():
    model = frozen_model(2)
    compiled(model, bert_adamw(None, 1e-2))
    before = values(model)
    model.fit(INPUTS, TARGETS, verbose=0)
    assert parts(changed(before, values(model))) == {BLOCKS[2], *HEAD}


def test_survives_saving_with_the_optimizer(tmp_path):
    model = frozen_model()
    compiled(model, bert_adamw(10, 1e-2))
    model.fit(INPUTS, TARGETS, verbose=0)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    assert training(twin) == training(model)
    assert len(twin.optimizer.variables) == len(model.optimizer.variables)
    before = values(twin)
    twin.fit(INPUTS, TARGETS, verbose=0)
    assert parts(changed(before, values(twin))) == {*BLOCKS[1:], *HEAD}


def test_survives_cloning_and_new_outputs():
    model = frozen_model(2)
    assert training(keras.models.clone_model(model)) == training(model)
    encoder = kbl.encoder_of(model)
    assert training(kbl.with_hidden_states(encoder)) == training(encoder)


def test_freezes_what_deberta_has_beside_its_blocks():
    model = tiny.classifier(**FAMILIES["deberta"])
    freeze(model, 1)
    assert training(model) == {"blocks/block_1", "head"}
    assert training(keras.models.clone_model(model)) == training(model)
    freeze(model, 0)
    assert "blocks/convolution" in training(model)
    assert "blocks/relative_table" not in training(model)


def test_a_language_model_shares_its_encoder():
    model = kbl.masked_lm(tiny.encoder())
    freeze(model, 2)
    assert {x for x in training(model) if x.startswith(("blocks", "embed"))} == set()


def test_shared_layers_freeze_together():
    model = tiny.classifier(num_layers=4, num_groups=2)
    freeze(model, 2)
    assert training(model) == {"blocks/block_1", *HEAD}
    with pytest.raises(ValueError, match=r"`num_layers` must be a multiple of 2.* 3"):
        freeze(model, 3)


@pytest.mark.parametrize("num_layers", [-1, 4, 1.0, True, None])
def test_refuses_numbers_of_layers(num_layers):
    with pytest.raises(ValueError, match=f"`num_layers` must .*Received: {num_layers}"):
        freeze(classifier(num_layers=3), num_layers)


def test_refuses_models_without_encoder():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="`model` must be an encoder or a model"):
        freeze(model, 1)
