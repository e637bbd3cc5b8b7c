"""What Keras brings to training works on these models, without anything of ours."""

import keras
import numpy as np
import pytest

from keras_bert_lite.training.optimizers import bert_adamw
from tests.policies import dtype_policy
from tests.training.samples import (
    INPUTS,
    LOSS,
    TARGETS,
    changed,
    classifier,
    compiled,
    same,
    values,
)

PLAIN = {"num_layers": 1, "dropout": 0.0, "attention_dropout": 0.0}
BACKEND = keras.backend.backend()


def trainee(**arguments):
    return compiled(classifier(**PLAIN), bert_adamw(None, 1e-2, **arguments))


def fitted(model, **arguments):
    history = model.fit(INPUTS, TARGETS, verbose=0, shuffle=False, **arguments)
    return history.history


def loss_of(weights):
    """The mean of the weighted losses of a fresh model's rows."""
    model = classifier(**PLAIN)
    losses = keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="none"
    )(TARGETS, model(INPUTS)["logits"])
    return np.mean(keras.ops.convert_to_numpy(losses) * weights)


def test_class_weights():
    got = fitted(trainee(), class_weight={0: 1.0, 1: 3.0})["loss"]
    assert got == pytest.approx([loss_of(np.where(TARGETS == 1, 3.0, 1.0))], rel=1e-5)


def test_class_weights_need_targets_without_names():
    with pytest.raises(ValueError, match=r"only supported for .* a single output"):
        trainee().fit(INPUTS, {"logits": TARGETS}, class_weight={0: 1.0}, verbose=0)


def test_class_weights_of_a_dataset():
    import tensorflow as tf

    rows = tf.data.Dataset.from_tensor_slices((INPUTS, TARGETS)).batch(4)
    arguments = {"class_weight": {0: 1.0, 1: 3.0}, "shuffle": False, "verbose": 0}
    got = trainee().fit(rows, **arguments).history["loss"]
    assert got == pytest.approx([loss_of(np.where(TARGETS == 1, 3.0, 1.0))], rel=1e-5)


@pytest.mark.parametrize("named", [False, True])
def test_sample_weights(named):
    weights = np.array([1.0, 0.0, 2.0, 0.5], "float32")
    targets = {"logits": TARGETS} if named else TARGETS
    sample_weight = {"logits": weights} if named else weights
    model = trainee()
    history = model.fit(INPUTS, targets, sample_weight=sample_weight, verbose=0)
    assert history.history["loss"] == pytest.approx([loss_of(weights)], rel=1e-5)


def test_metrics_by_name_or_alone():
    alone, named = classifier(**PLAIN), classifier(**PLAIN)
    eagerly = BACKEND == "tensorflow"
    alone.compile("sgd", LOSS, metrics=["accuracy"], run_eagerly=eagerly)
    metrics = {"logits": ["accuracy"]}
    named.compile("sgd", {"logits": LOSS}, metrics=metrics, run_eagerly=eagerly)
    alone_history = fitted(alone)
    named_history = named.fit(INPUTS, {"logits": TARGETS}, verbose=0).history
    assert alone_history["accuracy"] == named_history["accuracy"]
    assert alone_history["loss"] == pytest.approx(named_history["loss"])


def test_early_stopping_restores_the_best_weights():
    model = compiled(classifier(**PLAIN), keras.optimizers.SGD(1e-2))
    best = {}

    def remember(epoch, logs):
        if epoch == 0:
            best.update(values(model))

    stop = keras.callbacks.EarlyStopping(
        "loss", mode="max", patience=2, restore_best_weights=True
    )
    history = fitted(
        model,
        epochs=9,
        callbacks=[stop, keras.callbacks.LambdaCallback(on_epoch_end=remember)],
    )
    assert len(history["loss"]) == 3
    same(values(model), best, 0)


def test_tensorboard_writes_its_log(tmp_path):
    pytest.importorskip("tensorboard")
    fitted(trainee(), callbacks=[keras.callbacks.TensorBoard(tmp_path)])
    assert list(tmp_path.glob("train/events*"))


def test_an_interrupted_run_continues_where_it_was(tmp_path):
    whole, broken, resumed = trainee(), trainee(), trainee()
    fitted(whole, epochs=3)

    def fail(epoch, logs):
        if epoch == 1:
            raise KeyboardInterrupt

    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    failing = keras.callbacks.LambdaCallback(on_epoch_begin=fail)
    with pytest.raises(KeyboardInterrupt):
        fitted(broken, epochs=3, callbacks=[backup, failing])
    again = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    history = fitted(resumed, epochs=3, callbacks=[again])
    assert len(history["loss"]) == 2
    same(values(resumed), values(whole))


def test_the_best_model_is_kept(tmp_path):
    path = tmp_path / "best.keras"
    keep = keras.callbacks.ModelCheckpoint(path, monitor="loss", save_best_only=True)
    model = trainee()
    fitted(model, callbacks=[keep])
    same(values(keras.saving.load_model(path)), values(model), 0)


def test_accumulated_gradients_are_those_of_the_whole_batch():
    whole, halves = trainee(), trainee(accumulate=2)
    fitted(whole, batch_size=4)
    fitted(halves, batch_size=2)
    same(values(halves), values(whole), 1e-5)


def test_clipping_bounds_the_update():
    models = [classifier(**PLAIN), classifier(**PLAIN)]
    for model, norm in zip(models, (1e-3, None), strict=True):
        fitted(compiled(model, keras.optimizers.SGD(1.0, global_clipnorm=norm)))
    start = values(classifier(**PLAIN))
    moved = [
        np.sqrt(sum(np.sum((values(model)[p] - start[p]) ** 2) for p in start))
        for model in models
    ]
    assert moved[0] <= 1e-3 * 1.5 < moved[1]  # Keras clips tables by their pieces


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision(policy):
    with dtype_policy(policy):
        model = trainee()
    before = values(model)
    assert np.isfinite(fitted(model)["loss"]).all()
    assert changed(before, values(model)) >= {"head/dense/kernel"}
    assert {x.dtype for x in model.trainable_weights} == {"float32"}


def test_weights_may_be_averaged():
    model = trainee(use_ema=True, ema_momentum=0.5)
    before = values(model)
    fitted(model, epochs=2)
    assert changed(before, values(model)) >= {"head/dense/kernel"}
