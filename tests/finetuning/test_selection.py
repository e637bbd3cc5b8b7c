import json

import keras
import numpy as np
import pytest

from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.selection import Selection, reaches
from keras_bert_lite.training.divergence import Diverged

PATIENCE = RECIPE.patience


def fitted(scores, directory, rows=100, epochs=None, **options):
    """Fits a model whose scores are given; its weight is the epoch."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile("sgd", "mse")
    given = iter(scores)
    directory.mkdir(exist_ok=True)
    score = {"score": lambda: {"f1": next(given)}, "metric": "f1", "rows": rows}
    selection = Selection(**score, directory=directory, **options)
    number = iter(range(99))

    class Counts(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            model.set_weights([np.full((1, 1), next(number), "float32")])

    x = np.zeros((1, 1), "float32")
    epochs = epochs or len(scores) - 1
    model.fit(x, x, epochs=epochs, callbacks=[Counts(), selection], verbose=0)
    selection.restore(model)
    return selection, float(model.get_weights()[0].item())


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([0.5, 0.7, 0.6], 1),
        ([0.5, 0.7, 0.7], 2),  # the last of the best
        ([0.5, 0.7, 0.67], 2),  # the last that is nearly the best
        ([0.5, 0.7, 0.66, 0.6], 2),
        ([0.5, 0.7, 0.67, 0.8, 0.6], 3),
        ([0.7, 0.68, 0.6], 1),  # the start is not surely better
        ([0.7, 0.66, 0.62], 2),
        ([0.9, 0.68, 0.6], 0),
    ],
)
def test_which_weights_are_kept(scores, best, tmp_path):
    selection, weight = fitted(scores, tmp_path)
    assert selection.best["epoch"] == best
    assert weight == max(best - 1, 0)
    assert [x["f1"] for x in selection.history] == scores


@pytest.mark.parametrize(
    ("scores", "best"), [([0.5, 0.7, 0.6], 1), ([0.7, 0.72, 0.6], 0)]
)
def test_a_trusted_start_gives_way_to_what_is_surely_better(scores, best, tmp_path):
    selection, _ = fitted(scores, tmp_path, trusted=True)
    assert selection.best["epoch"] == best


def test_training_begins_once_the_start_is_scored(tmp_path):
    start, begun = tmp_path / "start.npz", []
    fitted([0.5, 0.7], tmp_path, begin=lambda: begun.append(start.exists()))
    assert begun == [True]
    assert len((tmp_path / "history.json").read_text().split("epoch")) == 3


def test_ends_when_nothing_improves(tmp_path):
    scores = [0.1, 0.9] + [0.5] * 20
    selection, _ = fitted(scores, tmp_path)
    assert len(selection.history) == 2 + PATIENCE


def test_patience_does_not_count_before_all_rows_are_read(tmp_path):
    scores = [0.1, 0.9] + [0.5] * 20
    selection, _ = fitted(scores, tmp_path, least=6)
    assert len(selection.history) == 1 + 6 + PATIENCE


@pytest.mark.parametrize(
    ("score", "other", "margin", "reached"),
    [
        (0.5, 0.4, 0.1, True),
        (0.5, 0.45, 0.1, False),
        (0.4, 0.45, -0.1, True),
        (-0.2, -0.16, 0.0, False),
        (np.nan, 0.5, -9.0, False),
        (np.inf, 0.5, 0.0, False),
        (-0.2, np.nan, 9.0, True),
        (np.nan, np.nan, 0.0, False),
    ],
)
def test_one_score_reaches_another(score, other, margin, reached):
    assert reaches(score, other, margin) == reached


def test_a_score_that_is_no_number_ends_training(tmp_path):
    with pytest.raises(Diverged, match=r"a score of nan. Received: 0.01"):
        fitted([0.5, 0.7, np.nan, 0.9], tmp_path)
    history = json.loads((tmp_path / "history.json").read_text())
    assert [x["f1"] for x in history] == [0.5, 0.7]


def test_weights_that_are_no_numbers_end_training(tmp_path):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, name="d")])
    model.compile("sgd", "mse")
    selection = Selection(lambda: {"f1": 0.5}, "f1", 9, tmp_path)
    selection.set_model(model)
    selection.on_train_begin()
    selection.on_epoch_begin(0)
    model.layers[0].bias.assign([np.inf])
    with pytest.raises(Diverged, match=r"infinity in the weight '.*d/bias'"):
        selection.on_epoch_end(0, {"loss": 1.0})
    assert selection.best["epoch"] == 0
    selection.restore(model)
    assert np.isfinite(model.get_weights()[1]).all()
