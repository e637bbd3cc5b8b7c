"""Curves of a training run."""

import types

import keras
import pytest

from keras_bert_lite.visualization import plot_history
from tests.visualization.pictures import texts_of

LISTS = {"loss": [3.0, 2.0, 1.0], "val_loss": [2.5], "accuracy": [0.1, 0.2, 0.3]}
REPORT = {"history": [{"epoch": 0, "f1": 0.1}, {"epoch": 0.5, "loss": 2.0, "f1": 0.3}]}


def keras_history():
    history = keras.callbacks.History()
    history.epoch, history.history = [4, 5, 6], LISTS
    return history


def drawn(history):
    """The points of each curve, by its panel and name."""
    return {
        (axes.get_title(), line.get_label()): line.get_xydata().tolist()
        for axes in plot_history(history).axes
        for line in axes.lines
    }


def test_the_history_of_keras():
    assert drawn(keras_history()) == {
        ("loss", "training"): [[5, 3.0], [6, 2.0], [7, 1.0]],
        ("loss", "held out"): [[7, 2.5]],  # of every third epoch
        ("accuracy", "training"): [[5, 0.1], [6, 0.2], [7, 0.3]],
    }
    assert drawn(LISTS)["loss", "training"] == [[1, 3.0], [2, 2.0], [3, 1.0]]


@pytest.mark.parametrize(
    "history", [REPORT, REPORT["history"], types.SimpleNamespace(report=REPORT)]
)
def test_the_report_of_a_run(history):
    assert "evaluation" in texts_of(plot_history(history))
    assert drawn(history) == {
        ("f1", "training"): [[0, 0.1], [0.5, 0.3]],
        ("loss", "training"): [[0.5, 2.0]],
    }


def test_many_metrics_have_rows_of_panels():
    figure = plot_history({f"metric_{i}": [0.1, 0.2] for i in range(5)})
    assert [f"metric_{i}" in texts_of(figure) for i in range(5)] == [True] * 5
    assert len(figure.axes) == 6
    assert not figure.axes[5].axison


@pytest.mark.parametrize("history", [None, {}, [], "loss", {"loss": []}])
def test_refuses_a_history_without_numbers(history):
    with pytest.raises(ValueError, match=r"`history` must hold numbers.*Received"):
        plot_history(history)
