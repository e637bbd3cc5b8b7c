"""Figures: what every picture shares, and the only import of matplotlib."""

import functools
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from keras_bert_lite.checks import check_installed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of the palette of Okabe and Ito, which differs for every kind of colour vision.
BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
GREY = "#767676"
SHADES = "Blues"  # from light to dark, also without any colour
SMALL, NORMAL = 8, 10
LINE = 1.3 * SMALL  # from line to line
LONG = 3  # characters of a name that fit above a column
DARK = 0.55  # shades from which on black cannot be read
LETTER = 0.6  # the width of a character, relative to its size
MARKER = 3  # half the width of a point
LINES = (0, 1, -1, 2, -2, 3, -3, 4, -4)  # where a label goes, lines up or down


def new_figure(
    width: float, height: float, layout: str | None = "constrained"
) -> "Figure":
    """Returns an empty figure of a size in inches.

    Args:
        width, height: The size.
        layout: What makes room for labels; `None` if axes say where they are.

    Raises:
        ImportError: If matplotlib is not installed.
    """
    return _figure_class()(figsize=(width, height), layout=layout)


@functools.cache
def _figure_class() -> Any:
    check_installed("matplotlib", extra="plot")
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that notebooks show, whether or not `pyplot` was imported."""

        def _repr_png_(self) -> bytes:
            png = io.BytesIO()
            self.savefig(png, format="png", dpi=100)
            return png.getvalue()

    return NotebookFigure


def name_rows(axes: Any, names: Sequence[str]) -> None:
    """Names the rows of a heat map. A `$` in a name is no formula."""
    axes.set_yticks(range(len(names)), names, parse_math=False)


def name_columns(axes: Any, names: Sequence[str]) -> None:
    """Names the columns of a heat map, above it; long names are upright."""
    axes.set_xticks(range(len(names)), names, parse_math=False)
    upright = max(map(len, names), default=0) > LONG
    axes.tick_params(axis="x", rotation=90 if upright else 0)
    axes.xaxis.tick_top()


def write_values(axes: Any, shades: Any, texts: Any) -> None:
    """Writes a text into each cell of a heat map, white where it is dark."""
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            colour = "white" if shades[i][j] > DARK else "black"
            axes.text(
                *(j, i, text), ha="center", va="center", color=colour, fontsize=SMALL
            )


def look(number: int) -> tuple[str, str]:
    """Returns a colour and a marker; neighbours differ in both."""
    colours, markers = (BLUE, VERMILION, GREEN, PINK, ORANGE, SKY, BLACK), "osD^vP"
    return colours[number % len(colours)], markers[number % len(markers)]


def label_points(axes: Any, points: Any, labels: Sequence[str]) -> None:
    """Writes labels beside points, where they cover no marker and no other label.

    A label that is not next to its point is tied to it by a line. Widths are
    estimated, because text has none before a figure is drawn.
    """
    axes.figure.draw_without_rendering()  # determines where the points are
    scale = 72 / axes.figure.dpi
    edges = axes.get_window_extent().x0 * scale, axes.get_window_extent().x1 * scale
    dots = axes.transData.transform(points) * scale
    taken = [(x - MARKER, x + MARKER, y) for x, y in dots]  # left, right, middle
    for label, point, (x, y) in zip(labels, points, dots, strict=True):
        width = LETTER * SMALL * len(label)
        places = [
            (x + offset, x + offset + width, y + line * LINE)
            for line in LINES
            for offset in (2 * MARKER, -2 * MARKER - width)
        ]
        free = (place for place in places if _is_free(place, taken, edges))
        left, right, middle = place = next(free, places[0])
        taken.append(place)
        on_left = right < x
        tie = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5}
        axes.annotate(
            label,
            point,
            ((right if on_left else left) - x, middle - y),
            textcoords="offset points",
            ha="right" if on_left else "left",
            va="center",
            fontsize=SMALL,
            parse_math=False,
            arrowprops=tie if middle != y else None,
        )


def _is_free(
    place: tuple[float, float, float],
    taken: list[tuple[float, float, float]],
    edges: tuple[float, float],
) -> bool:
    left, right, middle = place
    covers = any(
        left < end and begin < right and abs(middle - other) < 0.95 * LINE
        for begin, end, other in taken
    )
    return not covers and edges[0] < left and right < edges[1]


def short(text: str, most: int = 40) -> str:
    """Returns the beginning of a text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def ending(text: str, most: int = 18) -> str:
    """Returns the end of a text."""
    return text if len(text) <= most else f"…{text[1 - most :]}"
