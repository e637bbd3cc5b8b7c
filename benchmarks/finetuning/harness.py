"""Plans the runs, makes them in turns and keeps what they give."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.finetuning.score import score
from benchmarks.finetuning.sides import sides_of
from benchmarks.finetuning.subset import Row
from benchmarks.finetuning.tasks import Recipe, Task

Record = dict[str, Any]
Run = tuple[Task, int, str]  # task, seed, side
ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TOKENIZERS_PARALLELISM": "true",
}


class RunFailedError(Exception):
    """A run gave no result; the others go on."""


def plan(tasks: Iterable[Task], seeds: int, only: Iterable[str] = ()) -> list[Run]:
    """Returns all runs: seed by seed, the sides of a task one after the other.

    The order of the sides turns round with each task and each seed.

    Args:
        tasks: The tasks.
        seeds: How many.
        only: The sides wanted; all if there are none.
    """
    wanted = set(only)
    return [
        (task, seed, side)
        for seed in range(seeds)
        for turn, task in enumerate(tasks)
        for side in sides_of(task)[:: -1 if (seed + turn) % 2 else 1]
        if not wanted or side in wanted
    ]


def key(task: Task, recipe: Recipe, seed: int, side: str) -> Record:
    """Returns what decides the result of a run."""
    settings = {**task.to_dict(), **dataclasses.asdict(recipe)}
    name = settings.pop("name")
    return {"task": name, "seed": seed, "side": side, "settings": _as_json(settings)}


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


class Kept:
    """The records of finished runs, a line of JSON each.

    Args:
        path: The file; it is made with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def records(self) -> list[Record]:
        """Returns the records; half a line, which an interrupted run left, is none."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1] if line]

    def find(self, wanted: Record) -> Record | None:
        """Returns the last record with these values."""
        matching = (x for x in reversed(self.records()) if wanted.items() <= x.items())
        return next(matching, None)

    def add(self, record: Record) -> None:
        lines = [json.dumps(x) + "\n" for x in (*self.records(), record)]
        beside = self.path.with_suffix(".new")
        beside.write_text("".join(lines), encoding="utf-8")
        beside.replace(self.path)


def run_all(
    runs: Iterable[Run],
    recipe: Recipe,
    kept: Kept,
    make: Callable[[Run], Record],
    say: Callable[[str], None] = print,
    max_seconds: float = float("inf"),
    clock: Callable[[], float] = time.monotonic,
) -> list[Record]:
    """Makes the runs that have not been made; returns the records of all.

    Args:
        runs: See `plan`.
        recipe: Of all runs.
        kept: Where records are found and left.
        make: Makes a run and returns its results.
        say: Is told of every run.
        max_seconds: No run begins later than this.
        clock: For tests.
    """
    records, start = [], clock()
    for run in runs:
        task, seed, side = run
        wanted = key(task, recipe, seed, side)
        record = kept.find(wanted)
        if record is None and clock() - start <= max_seconds:
            try:
                record = {**wanted, **make(run)}
            except RunFailedError as error:
                say(f"{task.name} {seed} {side} failed: {error}")
                continue
            kept.add(record)
            say(f"{task.name} {seed} {side}: {record['scores']}, {record['seconds']} s")
        if record is not None:
            records.append(record)
    return records


def make_run(
    run: Run, recipe: Recipe, rows: tuple[list[Row], list[Row]], folder: Path
) -> Record:
    """Makes a run in a new process, and scores what it predicted.

    Args:
        run: Task, seed and side.
        recipe: Of the run.
        rows: The training and the development rows.
        folder: Where both processes leave files.

    Raises:
        RunFailedError: If the process fails; with the end of its log.
    """
    task, seed, side = run
    folder.mkdir(parents=True, exist_ok=True)
    job = {"task": task.to_dict(), "recipe": dataclasses.asdict(recipe), "side": side}
    job |= {"seed": seed, "train": rows[0], "dev": rows[1]}
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.finetuning.worker", str(folder)]
    environment = {**os.environ, **ENVIRONMENT}
    with open(folder / "log.txt", "wb") as log:
        done = subprocess.run(command, stdout=log, stderr=log, env=environment)
    if done.returncode:
        text = (folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        raise RunFailedError(f"exit {done.returncode}: {text.strip()[-1000:]}")
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    scores = score(task, rows[1], result.pop("predictions"))
    return {**result, "scores": scores, "load_average": round(os.getloadavg()[0], 2)}
