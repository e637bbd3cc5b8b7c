"""Chunks of a batch have its outputs and its gradients, under every backend."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_bert_lite as kbl
from keras_bert_lite.training.in_chunks import InChunks
from tests import tiny
from tests.conformance import to_numpy

ROWS, LENGTH, WORDS = 7, 10, len(tiny.VOCABULARY)
NAME = "sentence_embedding"


def texts(*shape):
    rng = np.random.default_rng(0)
    mask = np.arange(LENGTH) < rng.integers(3, LENGTH + 1, (*shape, 1))
    ids = rng.integers(5, WORDS, (*shape, LENGTH)) * mask
    return {
        "token_ids": ids.astype("int32"),
        "segment_ids": np.zeros_like(ids, "int32"),
        "padding_mask": mask,
    }


def encoder(dropout=0.0):
    keras.utils.set_random_seed(0)
    sizes = {"dropout": dropout, "attention_dropout": dropout, "pooling": None}
    return kbl.sentence_encoder(tiny.encoder(**sizes))


def trained(model, x, loss, **options):
    """The weights of an encoder after a step of SGD, and the loss."""
    trainer = kbl.sentence_encoder_trainer(model, **options)
    trainer.compile(keras.optimizers.SGD(1.0), loss, jit_compile=False)
    value = trainer.train_on_batch(x, np.zeros(len(x["token_ids"]), "float32"))
    return [to_numpy(x) for x in model.weights], value


@pytest.mark.parametrize("chunk_size", [1, 4, 14, 100])
def test_gradients_are_those_of_the_batch(chunk_size):
    x, loss = texts(ROWS, 2), kbl.losses.InBatchNegativesLoss()
    before = [to_numpy(x) for x in encoder().weights]
    want, value = trained(encoder(), x, loss)
    got, same = trained(encoder(), x, loss, chunk_size=chunk_size)
    assert same == pytest.approx(value, rel=1e-5)
    steps = [np.abs(a - b).max() for a, b in zip(want, before, strict=True)]
    assert np.median(steps) > 0.01
    for one, other, step in zip(got, want, steps, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-4 * step + 1e-6)


def test_one_chunk_drops_what_the_batch_drops():
    x, loss = texts(ROWS, 2), kbl.losses.InBatchNegativesLoss()
    want, value = trained(encoder(0.5), x, loss)
    got, same = trained(encoder(0.5), x, loss, chunk_size=2 * ROWS)
    assert same == pytest.approx(value, rel=1e-5)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_chunks_drop_one_after_the_other():
    model, x = encoder(0.5), texts(ROWS)
    states = [to_numpy(x) for x in model.non_trainable_variables]

    def run(read):
        keras.utils.set_random_seed(0)  # torch's
        for variable, state in zip(model.non_trainable_variables, states, strict=True):
            variable.assign(state)
        return to_numpy(read(x, training=True)[NAME])

    def in_parts(x, training):
        parts = [{name: y[i : i + 3] for name, y in x.items()} for i in (0, 3, 6)]
        made = [model(part, training=training)[NAME] for part in parts]
        return {NAME: ops.concatenate(made)}

    rows = 6 if keras.backend.backend() == "jax" else 7  # the last chunk is filled
    want = run(in_parts)
    after = [to_numpy(x) for x in model.non_trainable_variables]
    found = run(InChunks(model, 3))
    # The next step drops others.
    for variable, state in zip(model.non_trainable_variables, after, strict=True):
        np.testing.assert_array_equal(to_numpy(variable), state)
    np.testing.assert_allclose(found[:rows], want[:rows], atol=1e-5)
    np.testing.assert_allclose(run(InChunks(model, 3)), found, atol=1e-6)
    assert np.abs(found - run(InChunks(model, 4))).max() > 0.01


def test_predictions_are_the_models():
    model, x = encoder(0.5), texts(ROWS)
    want = model.predict(x, verbose=0)[NAME]
    got = InChunks(model, 2).predict(x, verbose=0)[NAME]
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_the_encoder_is_found_and_saved(tmp_path):
    trainer = kbl.sentence_encoder_trainer(encoder(), chunk_size=3)
    assert kbl.encoder_of(trainer).get_layer("blocks")
    x = texts(2, 2)
    want = trainer.predict(x, verbose=0)[NAME]
    trainer.save(tmp_path / "trainer.keras")
    loaded = keras.models.load_model(tmp_path / "trainer.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0)[NAME], want, atol=1e-6)


def test_refuses():
    with pytest.raises(ValueError, match="`chunk_size` must be a positive integer"):
        kbl.sentence_encoder_trainer(encoder(), chunk_size=0)
    with pytest.raises(ValueError, match="`model` must have one output"):
        InChunks(tiny.encoder(), 2)
