"""A horizontal bar for each peer and workload."""

import math
from pathlib import Path
from typing import Any

from benchmarks.inference.harness import ratios, summary
from benchmarks.inference.sides import LIMIT, OURS, SIDES

# As fast as this package. Bars begin here; those of slower sides go right.
TARGET = 1.0
COLUMNS = 2


def draw(results: dict[str, Any], path: Path) -> None:
    """Writes the plot: a panel for each model and corpus, bars by batch."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: dict[str, list[dict[str, Any]]] = {}
    for record in results["workloads"]:
        name = f"{record['model']}, {record['corpus']}"
        panels.setdefault(name, []).append(record)
    if not panels:
        return
    height = math.ceil(len(panels) / COLUMNS)
    size = {"figsize": (13, 3.6 * height), "squeeze": False}
    figure, axes = pyplot.subplots(height, COLUMNS, layout="constrained", **size)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    for axis, (name, records) in zip(axes.flat, panels.items(), strict=False):
        _panel(axis, name, records)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _panel(axis: Any, name: str, records: list[dict[str, Any]]) -> None:
    peers = [x for x in SIDES if x not in (OURS, LIMIT)]
    peers = [x for x in peers if any(_ratio(r, x) for r in records)]
    width = 0.8 / len(records)
    for i, record in enumerate(records):
        bars = {p: x for p, peer in enumerate(peers) if (x := _ratio(record, peer))}
        places = [p + (i - (len(records) - 1) / 2) * width for p in bars]
        beyond = [x["median"] - TARGET for x in bars.values()]
        spread = [
            [x["median"] - x["low"] for x in bars.values()],
            [x["high"] - x["median"] for x in bars.values()],
        ]
        label = f"batch {record['batch']}"
        axis.barh(places, beyond, width, TARGET, xerr=spread, label=label)
    axis.axvline(TARGET, color="black", linestyle="--", linewidth=1)
    axis.set_yticks(range(len(peers)), peers)
    axis.invert_yaxis()
    axis.set_xscale("log", base=2)
    axis.set_xlim(left=min(axis.get_xlim()[0], 0.9 * TARGET))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_title(name)
    axis.set_xlabel(f"seconds / {OURS}'s")
    axis.legend(fontsize="small")


def _ratio(record: dict[str, Any], side: str) -> dict[str, float] | None:
    values = ratios(record["rounds"], side, OURS)
    return summary(values) if values else None
