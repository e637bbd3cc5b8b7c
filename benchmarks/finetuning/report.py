"""The summary of the runs, and its table.

python -m benchmarks.finetuning.report [FOLDER WITH finetuning.json]
"""

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.finetuning.sides import OURS, SIDES
from benchmarks.inference.tables import table

Record = dict[str, Any]
RESULTS = Path(__file__).parents[1] / "results"


def epoch_seconds(record: Record) -> float:
    """Returns the seconds of an epoch: its steps, each of the median's length.

    On a machine that is shared, whole seconds go to others at times; the median
    leaves them out, and what is traced and compiled in the first step of all, which
    is the same for these few rows as for a whole data set.
    """
    return record["steps"] * statistics.median(_steps(record))


def _steps(record: Record) -> list[float]:
    return [seconds for epoch in record["step_seconds"] for seconds in epoch]


def summarize(records: Sequence[Record]) -> list[Record]:
    """Returns a summary for each task and side.

    It has `runs`, the mean and the values of each metric over the seeds, `scores`;
    beside another side than this package, over the seeds that both have, `behind`:
    how much lower this package's mean is, by metric; and `time_ratio`, this
    package's seconds / that side's: of an `epoch`, the median over all steps, each
    beside that side's step with the same rows; of `all` that was timed, the first
    step too, the median over the seeds.
    """
    names = list(dict.fromkeys(record["task"] for record in records))
    return [
        summary
        for task in names
        for side in SIDES
        if (summary := _summary([x for x in records if x["task"] == task], task, side))
    ]


def _summary(records: Sequence[Record], task: str, side: str) -> Record | None:
    runs = {x["seed"]: x for x in records if x["side"] == side}
    if not runs:
        return None
    _check_same_steps(task, records)
    summary = {"task": task, "side": side, "runs": len(runs)}
    values = list(runs.values())
    summary["scores"] = {name: _scores(values, name) for name in values[0]["scores"]}
    summary["epoch_seconds"] = round(statistics.median(map(epoch_seconds, values)), 2)
    ours = {x["seed"]: x for x in records if x["side"] == OURS}
    pairs = [(ours[seed], runs[seed]) for seed in sorted(set(ours) & set(runs))]
    return summary | (_beside(pairs) if side != OURS and pairs else {})


def _check_same_steps(task: str, records: Sequence[Record]) -> None:
    """Raises an error if sides cut the rows into different batches."""
    steps = {record["side"]: record["steps"] for record in records}
    if len({record["steps"] for record in records}) > 1:
        raise ValueError(
            f"`records` of {task!r} must have the same steps. Received: {steps}"
        )


def _scores(runs: Sequence[Record], name: str) -> Record:
    values = [run["scores"][name] for run in runs]
    return {"mean": round(statistics.mean(values), 2), "values": values}


def _beside(pairs: Sequence[tuple[Record, Record]]) -> Record:
    steps = [
        ours / theirs
        for a, b in pairs
        for ours, theirs in zip(_steps(a), _steps(b), strict=True)
    ]
    wholes = [sum(a["seconds"]) / sum(b["seconds"]) for a, b in pairs]
    differences = {
        name: [theirs["scores"][name] - ours["scores"][name] for ours, theirs in pairs]
        for name in pairs[0][0]["scores"]
    }
    return {
        "behind": {k: round(statistics.mean(v), 2) for k, v in differences.items()},
        "time_ratio": {
            "epoch": round(statistics.median(steps), 3),
            "all": round(statistics.median(wholes), 3),
        },
    }


def markdown(results: Record) -> str:
    """Returns the page with the table."""
    rows = [_row(x, results["settings"][x["task"]]) for x in results["summary"]]
    head = ["task", "rows, epochs", "side", "scores", "this package's, higher by"]
    head += ["epoch, s", "this package's / its seconds", "with the first step"]
    return f"{_head(results)}\n\n{table(head, rows)}\n"


def _row(summary: Record, settings: Record) -> list[str]:
    scores = [
        f"{name} {x['mean']:.2f} ({', '.join(f'{v:.2f}' for v in x['values'])})"
        for name, x in summary["scores"].items()
    ]
    higher = [f"{-value:+.2f}" for value in summary.get("behind", {}).values()]
    ratio = summary.get("time_ratio", {})
    return [
        summary["task"],
        f"{settings['rows']}, {settings['epochs']}",
        summary["side"],
        "; ".join(scores),
        ", ".join(higher) or "–",
        f"{summary['epoch_seconds']:.1f}",
        *(f"{ratio[name]:.2f}" if ratio else "–" for name in ("epoch", "all")),
    ]


def _head(results: Record) -> str:
    about = results["environment"]
    packages = ", ".join(f"{k} {v}" for k, v in about["packages"].items() if v)
    return (
        "# Fine-tuning MiniLM on a CPU\n\n"
        f"{about['processor']}, {about['cores']} cores, {about['date']}, commit "
        f"{about['commit']} and {about['changed_files']} changed files; Python "
        f"{about['python']}, {packages}. Means over the seeds, each value in brackets; "
        "an epoch's seconds are its steps times the median step; its ratio is the "
        "median over all steps, each beside the other side's step with the same rows "
        "(below 1 this package is faster). The last column is of everything timed, "
        "tracing and compilation too, which take the same time for any number of rows. "
        "The subsets are small, so the scores are there to be compared. Commands and "
        "fairness: "
        "`benchmarks/finetuning/__init__.py`."
        + (" A quick run: a smoke test, not a result." if results["quick"] else "")
    )


def write(results: Record, folder: Path) -> None:
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    (folder / "finetuning.json").write_text(text, encoding="utf-8")
    (folder / "finetuning.md").write_text(markdown(results), encoding="utf-8")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    results = json.loads((folder / "finetuning.json").read_text(encoding="utf-8"))
    write({**results, "summary": summarize(results["runs"])}, folder)


if __name__ == "__main__":
    main()
