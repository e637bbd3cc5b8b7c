"""Numbers of an `EvaluationCallback` in the logs, seen by Keras's own callbacks."""

import csv

import keras
import numpy as np
import pytest

from keras_bert_lite.evaluation import EvaluationCallback
from keras_bert_lite.tasks.outputs import scores_of

X = np.linspace(-1, 1, 8, dtype="float32")[:, None]


def fit(*callbacks, epochs=4):
    inputs = keras.Input((1,))
    model = keras.Model(inputs, {"logits": keras.layers.Dense(1)(inputs)})
    model.compile("sgd", "mean_squared_error")
    arguments = {"epochs": epochs, "verbose": 0, "callbacks": list(callbacks)}
    return model, model.fit(X, X, **arguments).history


def scripted(*values):
    """A score that gives one value after another, whatever the model."""
    remaining = iter(values)
    return lambda model: {"spearman": next(remaining)}


def test_numbers_stand_beside_keras_own():
    _, history = fit(EvaluationCallback(scripted(0.1, 0.2, 0.3, np.float32(0.5))))
    assert list(history) == ["loss", "val_spearman"]
    assert history["val_spearman"] == [0.1, 0.2, 0.3, 0.5]


def test_the_score_sees_the_model_as_it_is():
    def slope(model):
        values = model.predict(X, verbose=0)["logits"]
        return {"slope": (values[-1, 0] - values[0, 0]) / 2}

    model, history = fit(EvaluationCallback(slope, prefix=""))
    kernel = keras.ops.convert_to_numpy(model.layers[-1].kernel)
    assert history["slope"][-1] == pytest.approx(kernel[0, 0], abs=1e-5)
    assert len(set(history["slope"])) == 4


def test_training_stops_by_them_and_returns_to_the_best():
    stop = keras.callbacks.EarlyStopping(
        "val_spearman", mode="max", patience=2, restore_best_weights=True
    )
    kernels = []

    def score(model):
        kernels.append(model.get_weights()[0])
        return {"spearman": [0.1, 0.7, 0.6, 0.5, 0.9][len(kernels) - 1]}

    model, history = fit(EvaluationCallback(score), stop, epochs=5)
    assert history["val_spearman"] == [0.1, 0.7, 0.6, 0.5]
    np.testing.assert_array_equal(model.get_weights()[0], kernels[1])


def test_a_callback_before_does_not_see_them():
    stop = keras.callbacks.EarlyStopping("val_spearman", mode="max")
    with pytest.warns(UserWarning, match="`val_spearman` which is not available"):
        fit(stop, EvaluationCallback(scripted(1, 2)), epochs=2)


def test_they_are_saved_and_logged(tmp_path):
    path = tmp_path / "{val_spearman:.2f}.weights.h5"
    save = keras.callbacks.ModelCheckpoint(
        path, "val_spearman", mode="max", save_best_only=True, save_weights_only=True
    )
    log = keras.callbacks.CSVLogger(tmp_path / "log.csv")
    fit(EvaluationCallback(scripted(0.1, 0.7, 0.6)), save, log, epochs=3)
    saved = sorted(x.name for x in tmp_path.glob("*.h5"))
    assert saved == ["0.10.weights.h5", "0.70.weights.h5"]
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["val_spearman"]) for row in rows] == [0.1, 0.7, 0.6]


def test_evaluates_now_and_then():
    _, history = fit(EvaluationCallback(scripted(0.1, 0.2), every=2), epochs=5)
    assert history["val_spearman"] == [0.1, 0.2]
    assert len(history["loss"]) == 5


def test_several_do_not_disturb_each_other():
    both = (
        EvaluationCallback(scripted(1)),
        EvaluationCallback(scripted(2), prefix="test_"),
    )
    _, history = fit(*both, epochs=1)
    assert (history["val_spearman"], history["test_spearman"]) == ([1], [2])


@pytest.mark.parametrize("report", [0.5, None, {"f1": [1, 2]}, {"f1": "high"}])
def test_refuses_reports_that_are_no_numbers(report):
    with pytest.raises(TypeError, match="`score` must return numbers by name"):
        fit(EvaluationCallback(lambda model: report))


def test_refuses_names_that_are_taken():
    with pytest.raises(ValueError, match=r"`prefix` must make names .* \['loss'\]"):
        fit(EvaluationCallback(lambda model: {"loss": 0}, prefix=""))


def test_refuses_bad_arguments():
    with pytest.raises(TypeError, match=r"`score` must be a function.*\{'f1': 1\}"):
        EvaluationCallback({"f1": 1})
    with pytest.raises(ValueError, match="`every` must be a positive integer"):
        EvaluationCallback(scripted(), every=0)


def test_what_is_no_number_is_never_the_best():
    stop = keras.callbacks.EarlyStopping("val_spearman", mode="max", patience=9)
    scores = scripted(np.nan, -0.2, np.inf, -0.1)
    with pytest.warns(UserWarning, match="finite numbers|conditioned on") as caught:
        _, history = fit(EvaluationCallback(scores), stop)
    ours = [x for x in caught if "must return finite numbers" in str(x.message)]
    assert len(ours) == 2
    assert history["val_spearman"] == [-0.2, -0.1]
    assert stop.best == -0.1


def test_predictions_that_are_no_numbers_are_not_scored():
    model, _ = fit(epochs=1)
    model.layers[-1].bias.assign([np.nan])
    with pytest.raises(ValueError, match=r"must predict numbers.*Received: NaN"):
        scores_of(model, X)
