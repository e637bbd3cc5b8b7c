"""The curves of a training run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras_bert_lite.visualization import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HELD_OUT = "val_"
MOST_COLUMNS = 3
Curve = list[tuple[float, float]]  # epochs and values


def plot_history(history: Any) -> "Figure":
    """Draws the losses and metrics of a run over its epochs (or its evaluations).

    A metric has a panel, in which values on held-out data (`val_...`) are dashed.

    Args:
        history: What `model.fit` returns, or its `history`, a dictionary of lists; or
            what `finetune` returns, or its `report`, or the `history` in that.

    Returns:
        A figure.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If there are no numbers.

    Example:

    >>> history = {"loss": [0.9, 0.5, 0.3], "val_loss": [0.8, 0.6, 0.6]}
    >>> figure = kbl.visualization.plot_history(history)
    >>> figure.savefig("history.png")
    """
    curves, unit = _curves(history)
    panels: dict[str, list[str]] = {}
    for name in curves:
        panels.setdefault(name.removeprefix(HELD_OUT), []).append(name)
    columns = min(len(panels), MOST_COLUMNS)
    rows = -(-len(panels) // columns)
    figure = figures.new_figure(3.6 * columns + 0.4, 2.8 * rows)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, (panel, names) in zip(grid, panels.items(), strict=False):
        for name in names:
            held_out = name.startswith(HELD_OUT)
            axes.plot(
                *zip(*curves[name], strict=True),
                color=figures.VERMILION if held_out else figures.BLUE,
                linestyle="--" if held_out else "-",
                marker="s" if held_out else "o",
                label="held out" if held_out else "training",
            )
        axes.set_title(panel, fontsize=figures.NORMAL, parse_math=False)
        axes.set_xlabel(unit)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        if len(names) > 1:
            axes.legend(frameon=False)
    for axes in grid[len(panels) :]:  # the rest of the last row
        axes.set_axis_off()
    return figure


def _curves(history: Any) -> tuple[dict[str, Curve], str]:
    """Returns the epochs and values of each metric that has any.

    What `finetune` calls epochs are its evaluations, the first before training.
    """
    found = getattr(history, "report", history)
    if isinstance(found, Mapping) and "history" in found:
        found = found["history"]
    curves: dict[str, Curve] = {}
    values = getattr(found, "history", found)
    if isinstance(values, Mapping):
        curves = {name: _over_epochs(found, x) for name, x in values.items()}
        return _checked(curves, history), "epoch"
    for step in values if isinstance(values, list) else ():
        for name, value in step.items():
            if name != "epoch":
                curves.setdefault(name, []).append((step["epoch"], value))
    return _checked(curves, history), "evaluation"


def _over_epochs(history: Any, values: Sequence[float]) -> Curve:
    """Returns values of Keras with the number of epochs that were over.

    A metric of every second epoch has half as many values as there are epochs.
    """
    lists = getattr(history, "history", history).values()
    count = max(map(len, lists))
    numbers = getattr(history, "epoch", None) or range(count)
    every = count // max(1, len(values))
    return [(numbers[every * (i + 1) - 1] + 1, x) for i, x in enumerate(values)]


def _checked(curves: dict[str, Curve], history: Any) -> dict[str, Curve]:
    curves = {name: curve for name, curve in curves.items() if curve}
    if not curves:
        raise ValueError(
            "`history` must hold numbers by metric and epoch, as what `model.fit` "
            f"returns does. Received: {history!r}"
        )
    return curves
