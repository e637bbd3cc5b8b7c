"""Confusion matrices and reliability diagrams."""

import numpy as np
import pytest

from keras_bert_lite.reliability import reliability
from keras_bert_lite.visualization import plot_confusion, plot_reliability
from tests.visualization.pictures import texts_of

EXPECTED, ANSWERS = ["a", "b", "b", "b"], ["a", "b", "a", "b"]


def test_confusions_are_counted_and_shaded_by_row():
    figure = plot_confusion(EXPECTED, np.array(ANSWERS), ["b", "c$", "a"])
    axes = figure.axes[0]
    shades = np.asarray(axes.images[0].get_array())
    np.testing.assert_allclose(shades, [[2 / 3, 0, 1 / 3], [0, 0, 0], [0, 0, 1]])
    texts = texts_of(figure)
    assert "answer (75.0% right)" in texts
    assert [x for x in texts if x.isdigit()] == ["2", "1", "1"]
    assert [x.get_text() for x in axes.get_yticklabels()] == ["b", "c$", "a"]


def test_thirty_labels_keep_their_names():
    labels = list(range(30))
    figure = plot_confusion(labels, labels)
    texts = texts_of(figure)
    assert all(texts.count(str(x)) >= 2 for x in labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "at least. Received: 0 and 0"),
        ((["a"], ["a", "b"]), "Received: 1 and 2"),
        ((EXPECTED, ANSWERS, ["a"]), r"`labels` must contain .* without \['b'\]"),
    ],
)
def test_refuses_other_labels(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_confusion(*arguments)


def test_bars_are_shares_of_right_answers():
    rng = np.random.default_rng(0)
    confidences = rng.random(200)
    right = rng.random(200) < confidences**2
    figure = plot_reliability(confidences, right, bins=4)
    above, below = figure.axes
    heights = [
        right[(confidences >= low) & (confidences < low + 0.25)].mean()
        for low in (0, 0.25, 0.5, 0.75)
    ]
    assert [x.get_height() for x in above.patches] == pytest.approx(heights)
    assert sum(x.get_height() for x in below.patches) == 200
    error = reliability(confidences, right, 4).error
    assert f"expected calibration error {error:.1%} (200 answers)" in texts_of(figure)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "`confidences` and `right` must have the same shape"),
        (([0.5], [True, False]), "must have the same shape"),
        (([1.5], [True]), "`confidences` must be probabilities"),
        (([float("nan")], [True]), "`confidences` must be probabilities"),
        (([0.5], [True], 0), "`bins` must be a positive integer"),
    ],
)
def test_refuses_what_are_no_confidences(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_reliability(*arguments)
