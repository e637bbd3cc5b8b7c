"""The text classifier."""

import warnings

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import fresh_process, tiny
from tests.conformance import (
    EAGERLY,
    INT8_STEP,
    assert_all_close,
    randomize,
    to_numpy,
)
from tests.models.samples import ids, tensorflow_only

LABELS = ["bad", "fair", "fine"]
INPUTS = ids(lengths=(5, 3, 4, 2, 5, 4), width=5)
TARGETS = np.array([0, 1, 2, 0, 1, 2], "int32")


def random_classifier(**changes) -> keras.Model:
    model = tiny.classifier(LABELS, **changes)
    randomize(model)
    return model


def compiled(model: keras.Model, **options) -> keras.Model:
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"], **options)
    return model


def test_returns_a_logit_for_each_label():
    outputs = random_classifier()(INPUTS)
    assert list(outputs) == ["logits"]
    assert outputs["logits"].shape == (6, 3)


def test_logits_are_the_head_on_the_pooled_output():
    encoder = kbl.encoder(tiny.config())
    model = kbl.text_classifier(encoder, LABELS)
    randomize(model)
    expected = model.get_layer("head")(encoder(INPUTS)["pooled_output"])
    assert_all_close(model(INPUTS)["logits"], expected)


@pytest.mark.parametrize("pooling", ["mean", "max", "attention"])
def test_takes_any_pooling(pooling):
    assert random_classifier(pooling=pooling)(INPUTS)["logits"].shape == (6, 3)


@pytest.mark.parametrize(("dropout", "expected"), [(None, 0.3), (0.0, 0.0), (0.5, 0.5)])
def test_dropout_is_the_encoders_unless_given(dropout, expected):
    encoder = kbl.encoder(tiny.config(dropout=0.3))
    model = kbl.text_classifier(encoder, LABELS, dropout=dropout)
    assert model.get_layer("head").dropout_rate == expected


@pytest.fixture(scope="module")
def trained() -> keras.Model:
    keras.utils.set_random_seed(0)
    model = compiled(tiny.classifier(LABELS, num_layers=1))
    model.fit(INPUTS, TARGETS, batch_size=6, epochs=30, verbose=0)
    return model


def test_training_lowers_the_loss(trained):
    chance = np.log(len(LABELS))
    first, *_, last = trained.history.history["loss"]
    assert first == pytest.approx(chance, rel=0.1)
    assert last < 0.5 * chance
    logits = trained.predict(INPUTS, verbose=0)["logits"]
    assert np.array_equal(logits.argmax(axis=-1), TARGETS)


@pytest.mark.slow
@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="torch.compile needs a C++ compiler"
)
def test_trains_through_xla():
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 8}
    model = tiny.classifier(LABELS, dropout=0.0, attention_dropout=0.0, **sizes)
    compiled(model, jit_compile=True)
    losses = [model.train_on_batch(INPUTS, TARGETS)[0] for _ in range(20)]
    assert losses[-1] < losses[0]


def test_training_trains_the_encoder_too():
    encoder = kbl.encoder(tiny.config())
    before = encoder.get_weights()
    model = compiled(kbl.text_classifier(encoder, LABELS), run_eagerly=EAGERLY)
    model.train_on_batch(INPUTS, TARGETS)
    after = encoder.get_weights()
    assert not any(np.array_equal(*pair) for pair in zip(before, after, strict=True))


def test_a_frozen_encoder_stays_as_it_is():
    encoder = kbl.encoder(tiny.config())
    encoder.trainable = False
    before = encoder.get_weights()
    model = compiled(kbl.text_classifier(encoder, LABELS), run_eagerly=EAGERLY)
    assert len(model.trainable_weights) == 2
    model.train_on_batch(INPUTS, TARGETS)
    for old, new in zip(before, encoder.get_weights(), strict=True):
        assert np.array_equal(old, new)


def test_saved_models_load_in_another_process(tmp_path):
    model = random_classifier()
    model.save(tmp_path / "classifier.keras")
    outputs = fresh_process.call_saved(tmp_path / "classifier.keras", INPUTS)
    assert_all_close(outputs, [model(INPUTS)["logits"]])


def test_compiled_models_keep_training_after_loading(tmp_path, trained):
    trained.save(tmp_path / "classifier.keras")
    loaded = keras.saving.load_model(tmp_path / "classifier.keras")
    assert loaded.get_layer("head").labels == LABELS
    assert int(loaded.optimizer.iterations) == 30
    loaded.run_eagerly = EAGERLY
    loaded.train_on_batch(INPUTS, TARGETS)
    assert int(loaded.optimizer.iterations) == 31


def test_quantized_models_load_in_another_process(tmp_path):
    model = tiny.classifier(LABELS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have a `quantize` method")
        model.quantize("int8")
    model.save(tmp_path / "classifier.keras")
    outputs = fresh_process.call_saved(tmp_path / "classifier.keras", INPUTS)
    assert_all_close(outputs, [model(INPUTS)["logits"]], INT8_STEP)


@tensorflow_only
@pytest.mark.parametrize("label", [-1, 3])
def test_refuses_labels_out_of_range(trained, label):
    import tensorflow as tf

    targets = np.where(TARGETS == 2, label, TARGETS)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"value of {label} "):
        trained.fit(INPUTS, targets, verbose=0)


@tensorflow_only
def test_refuses_token_ids_outside_the_vocabulary(trained):
    import tensorflow as tf

    inputs = {**INPUTS, "token_ids": INPUTS["token_ids"] + 1000}
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        trained.fit(inputs, TARGETS, verbose=0)


def test_an_encoder_without_pooled_output_is_pooled_by_the_mean():
    encoder = tiny.encoder(pooling=None)
    model = kbl.text_classifier(encoder, LABELS)
    same = kbl.text_classifier(encoder, LABELS, pooling="mean")
    same.get_layer("head").set_weights(model.get_layer("head").get_weights())
    logits = [to_numpy(x(INPUTS)["logits"]) for x in (model, same)]
    np.testing.assert_allclose(*logits, atol=1e-6)


@pytest.mark.parametrize("labels", [["one"], ["same", "same"]])
def test_refuses_labels_that_are_not_different_names(labels):
    with pytest.raises(ValueError, match="`labels` must be at least two names"):
        tiny.classifier(labels)


def test_refuses_models_that_are_no_encoders():
    with pytest.raises(ValueError, match="must be an encoder made by"):
        kbl.text_classifier(tiny.classifier(LABELS), LABELS)
