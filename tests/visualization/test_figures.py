"""What all figures share."""

import pytest
from matplotlib.text import Text

from keras_bert_lite.visualization import figures, plot_history


def test_a_notebook_shows_a_figure_without_pyplot():
    figure = plot_history({"loss": [2.0, 1.0]})
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_labels_next_to_each_other_move_apart():
    figure = figures.new_figure(4, 3)
    axes = figure.subplots()
    points = [(0.5, 0.5)] * 4
    axes.scatter(*zip(*points, strict=True))
    figures.label_points(axes, points, ["one", "two", "three", "four"])
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(x) for x in axes.texts]  # without their lines
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize(
    ("shorten", "expected"),
    [(figures.short, "abc…"), (figures.ending, "…fgh")],
)
def test_long_texts_are_shortened(shorten, expected):
    assert shorten("abcdefgh", 4) == expected
    assert shorten("abcd", 4) == "abcd"
