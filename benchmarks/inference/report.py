"""Tables and plot from the times that a run took.

python -m benchmarks.inference.report [FOLDER WITH inference.json]
"""

import json
import statistics
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.inference import tables
from benchmarks.inference.harness import ratios, summary
from benchmarks.inference.sides import LIMIT, ONE_THREAD, OURS, SIDES

Record = dict[str, Any]
ENGINES_INT8 = ("onnxruntime int8", "openvino int8", "ctranslate2 int8")
# The bases of the tables, and who is compared with them.
COMPARED = {
    OURS: [x for x in SIDES if x not in (OURS, LIMIT)],
    f"{OURS} int8": [*ENGINES_INT8, "openvino bf16"],
    ONE_THREAD: [*ENGINES_INT8, "openvino bf16"],
    f"{OURS} onnx fp32": [OURS, "onnxruntime fp32"],
    f"{OURS} onnx int8": [OURS, *ENGINES_INT8],
    f"{OURS} openvino fp32": [OURS, "onnxruntime fp32", "openvino fp32"],
    f"{OURS} openvino bf16": [OURS, "openvino bf16"],
}


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
        bases = [x for x in COMPARED if any(x in record["ways"] for record in records)]
        compared = [f"seconds / {x}'s\n\n{_ratio_table(records, x)}" for x in bases]
        parts.append(
            f"## {model}, {corpus}\n\n{first['tokens_a_text']} tokens a text; "
            + "\n\n".join(compared)
        )
        if any(LIMIT in record["ways"] for record in records):
            parts.append(_limit_table(records))
    parts += [tables.loading(x) for x in results["loads"] if x["saved_models"]]
    parts.append(tables.agreements(results["workloads"]))
    parts.append(tables.left_out(results["left_out"]))
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


def _ratio_table(records: list[Record], base: str) -> str:
    rows = []
    for side in COMPARED[base]:
        cells = [_cell(_summary(record, side, base)) for record in records]
        if any(cell != "–" for cell in cells):
            rows.append([side, *cells])
    head = [f"batch {x['batch']} (n = {len(x['rounds'])})" for x in records]
    return tables.table(["side", *head], rows)


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
    rows.append(["the limit, GFLOP/s", *map(_limit, records)])
    head = ["share of the limit of fp32 matrix products"]
    return tables.table([*head, *(f"batch {x['batch']}" for x in records)], rows)


def _limit(record: Record) -> str:
    seconds = [sum(x[LIMIT]) for x in record["rounds"] if LIMIT in x]
    if not seconds:
        return "–"
    return f"{record['matmul_flops'] / statistics.median(seconds) / 1e9:.0f}"


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
