"""The command line; see the package's docstring."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.finetuning import harness, report
from benchmarks.finetuning.sides import SIDES
from benchmarks.finetuning.subset import Row, read
from benchmarks.finetuning.tasks import TASKS, Recipe, quick
from benchmarks.inference.environment import environment


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.finetuning",
        description="Compares fine-tuning with the peers': scores and time.",
    )
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=[])
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--max-minutes", type=float, default=float("inf"))
    parser.add_argument("--results", type=Path, default=report.RESULTS)
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    return parser.parse_args()


def say(message: str) -> None:
    print(time.strftime("%H:%M:%S"), message, file=sys.stderr, flush=True)


def main() -> None:
    options = arguments()
    options.results.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(dropout=options.dropout)
    tasks = [TASKS[name] for name in options.tasks]
    tasks = [quick(task) for task in tasks] if options.quick else tasks
    about = environment()
    rows = {task.name: read(task, options.data) for task in tasks}
    with tempfile.TemporaryDirectory(prefix="finetuning-") as work:
        records = harness.run_all(
            harness.plan(tasks, options.seeds, options.sides),
            recipe,
            harness.Kept(options.results / "finetuning.jsonl"),
            make=lambda group: _make(group, recipe, rows, Path(work)),
            say=say,
            max_seconds=60 * options.max_minutes,
        )
    results: dict[str, Any] = {"environment": about, "quick": options.quick}
    results["settings"] = {x["task"]: x["settings"] for x in records}
    results["runs"] = [{k: v for k, v in x.items() if k != "settings"} for x in records]
    results["summary"] = report.summarize(records)
    report.write(results, options.results)
    print(report.markdown(results))


def _make(
    group: harness.Group,
    recipe: Recipe,
    rows: dict[str, tuple[list[Row], list[Row]]],
    work: Path,
) -> dict[str, dict[str, Any]]:
    task, seed, sides = group
    say(f"{task.name} {seed} {', '.join(sides)} ...")
    return harness.make_group(group, recipe, rows[task.name], work / task.name)


if __name__ == "__main__":
    main()
