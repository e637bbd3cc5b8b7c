"""Tables and plot from the times that a run took.

python -m benchmarks.inference.report [FOLDER WITH inference.json]
"""

import json
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.inference.harness import ratios, summary
from benchmarks.inference.sides import LIMIT, OURS, SIDES

Record = dict[str, Any]
# The bases of the tables, and who is compared with them.
INT8 = f"{OURS} int8"
COMPARED = {OURS: [x for x in SIDES if x not in (OURS, LIMIT)], INT8: SIDES}
MIB = 2**20


def brief(record: Record) -> str:
    """Returns the medians of a workload in a line."""
    medians = {name: _summary(record, name, OURS) for name in record["ways"]}
    return ", ".join(f"{k} {v['median']:.2f}" for k, v in medians.items() if v)


def _summary(record: Record, side: str, base: str) -> dict[str, float] | None:
    values = ratios(record["rounds"], side, base)
    return summary(values) if values else None


def markdown(results: Record) -> str:
    """Returns all tables."""
    parts = [_head(results)]
    for (model, corpus), records in _grouped(results["workloads"]).items():
        first = records[0]
        parts.append(
            f"### {model}, {corpus}\n\n{first['tokens_a_text']} tokens a text; "
            f"seconds / {OURS}'s\n\n" + _ratio_table(records, OURS)
        )
        if any(INT8 in record["ways"] for record in records):
            sides = [x for x in ("onnxruntime int8", "onnxruntime fp32", OURS)]
            parts.append(f"seconds / {INT8}'s\n\n" + _ratio_table(records, INT8, sides))
        if any(LIMIT in record["ways"] for record in records):
            parts.append(_limit_table(records))
    parts += [_loads(x) for x in results["loads"] if x["saved_models"]]
    parts.append(_agreement(results["workloads"]))
    parts.append(_left_out(results["left_out"]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: Record) -> str:
    about = results["environment"]
    packages = ", ".join(f"{k} {v}" for k, v in about["packages"].items() if v)
    return (
        "# Inference on a CPU, strings to vectors\n\n"
        f"{about['processor']}, {about['cores']} cores, {about['date']}, commit "
        f"{about['commit']} and {about['changed_files']} changed files; Python "
        f"{about['python']}, {packages}. Medians over the rounds of seconds / seconds "
        "in the same round, quartiles in brackets; above 1 the base is faster."
        + (" A quick run: a smoke test, not a result." if results["quick"] else "")
    )


def _grouped(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["model"], record["corpus"]), []).append(record)
    return groups


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _ratio_table(records: list[Record], base: str, sides=None) -> str:
    rows = []
    for side in sides or COMPARED[base]:
        cells = [_cell(_summary(record, side, base)) for record in records]
        if any(cell != "–" for cell in cells):
            rows.append([side, *cells])
    head = [f"batch {x['batch']} (n = {len(x['rounds'])})" for x in records]
    return table(["side", *head], rows)


def _cell(values: dict[str, float] | None) -> str:
    if values is None:
        return "–"
    return f"{values['median']:.2f} ({values['low']:.2f} to {values['high']:.2f})"


def _limit_table(records: list[Record]) -> str:
    """Shares: the seconds that the products need at the limit / a side's seconds."""
    rows = []
    for side in SIDES:
        cells = [_cell(_summary(record, LIMIT, side)) for record in records]
        if side != LIMIT and any(cell != "–" for cell in cells):
            rows.append([side, *cells])
    rates = [
        statistics.median(record["matmul_flops"] / x[LIMIT] for x in record["rounds"])
        for record in records
    ]
    rows.append(["the limit, GFLOP/s", *(f"{rate / 1e9:.0f}" for rate in rates)])
    head = ["share of the limit of fp32 matrix products"]
    return table([*head, *(f"batch {x['batch']}" for x in records)], rows)


def _loads(loads: Record) -> str:
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
    title = f"### {loads['model']}: loading, {loads['rows']} SST-2 sentences, "
    return f"{title}median of {runs}\n\n{table(head, rows)}"


def _agreement(records: list[Record]) -> str:
    rows = []
    for (model, side), values in _worst(records).items():
        cosine, difference = values
        rows.append([model, side, f"{cosine:.7f}", f"{difference:.1e}"])
    head = ["model", "side", "least cosine", "largest difference"]
    return f"### Vectors beside transformers'\n\n{table(head, rows)}" if rows else ""


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


def _left_out(records: list[Record]) -> str:
    rows = [[x["model"], x["side"], x["why"].replace("|", "/")] for x in records]
    return f"### Left out\n\n{table(['model', 'side', 'why'], rows)}" if rows else ""


def write(results: Record, folder: Path) -> None:
    from benchmarks.inference import plot

    path = folder / "inference.md"
    path.write_text(markdown(results), encoding="utf-8")
    plot.draw(results, folder / "inference.png")


def main() -> None:
    default = Path(__file__).parents[1] / "results"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    path = folder / "inference.json"
    write(json.loads(path.read_text(encoding="utf-8")), folder)


if __name__ == "__main__":
    main()
