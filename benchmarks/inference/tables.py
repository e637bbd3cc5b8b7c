"""Tables of what is not a ratio: loading, agreement, who was left out."""

import statistics
from typing import Any

Record = dict[str, Any]
MIB = 2**20


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def loading(loads: Record) -> str:
    """Returns the table of the SavedModels of a model."""
    columns = {
        "import, s": ("import_seconds", 1.0),
        "load, s": ("load_seconds", 1.0),
        "load to first answer, s": ("first_answer_seconds", 1.0),
        "process to first answer, s": ("process_seconds", 1.0),
        "peak memory, MiB": ("peak_memory", MIB),
    }
    rows = []
    for name, x in loads["saved_models"].items():
        medians = [
            statistics.median(run[key] for run in x["runs"]) / unit
            for key, unit in columns.values()
        ]
        share = x["bytes"] / loads["weight_bytes"]
        size = f"{x['bytes'] / MIB:.1f} ({share:.3f} x the weights)"
        rows.append([name, size, *(f"{value:.2f}" for value in medians)])
    head = ["SavedModel", "size, MiB", *columns]
    runs = max(len(x["runs"]) for x in loads["saved_models"].values())
    title = f"## {loads['model']}: loading, {loads['rows']} SST-2 sentences, "
    return f"{title}median of {runs}\n\n{table(head, rows)}"


def agreements(records: list[Record]) -> str:
    """Returns the table of the largest differences to the reference."""
    rows = []
    for (model, side), values in _worst(records).items():
        cosine, difference = values
        rows.append([model, side, f"{cosine:.7f}", f"{difference:.1e}"])
    head = ["model", "side", "least cosine", "largest difference"]
    return f"## Vectors beside transformers'\n\n{table(head, rows)}" if rows else ""


def _worst(records: list[Record]) -> dict[tuple[str, str], tuple[float, float]]:
    worst: dict[tuple[str, str], tuple[float, float]] = {}
    for record in records:
        for side, x in record["agreement"].items():
            cosine, difference = worst.get((record["model"], side), (1.0, 0.0))
            worst[record["model"], side] = (
                min(cosine, x["cosine"]),
                max(difference, x["difference"]),
            )
    return worst


def left_out(records: list[Record]) -> str:
    """Returns the table of the sides that did not run, and why."""
    rows = [[x["model"], x["side"], x["why"].replace("|", "/")] for x in records]
    return f"## Left out\n\n{table(['model', 'side', 'why'], rows)}" if rows else ""
