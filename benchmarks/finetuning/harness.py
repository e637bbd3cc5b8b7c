"""Plans the runs, makes those of a task side by side and keeps what they give."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.finetuning.score import score
from benchmarks.finetuning.sides import sides_of
from benchmarks.finetuning.subset import Row
from benchmarks.finetuning.tasks import Recipe, Task
from benchmarks.finetuning.worker import YOUR_TURN

Record = dict[str, Any]
Group = tuple[Task, int, list[str]]  # task, seed, sides
ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_CPU_ALLOCATOR_USE_BFC": "true",  # as the command sets it
    "TOKENIZERS_PARALLELISM": "true",
}


class RunFailedError(Exception):
    """A run gave no result; the others go on."""


def plan(tasks: Iterable[Task], seeds: int, only: Iterable[str] = ()) -> list[Group]:
    """Returns all groups of runs, seed by seed: a task's sides run side by side.

    The order of the sides turns round with each task and each seed.

    Args:
        tasks: The tasks.
        seeds: How many.
        only: The sides wanted; all if there are none.
    """
    wanted = set(only)
    groups = [
        (task, seed, [x for x in sides_of(task) if not wanted or x in wanted])
        for seed in range(seeds)
        for task in tasks
    ]
    return [
        (task, seed, sides[:: -1 if turn % 2 else 1])
        for turn, (task, seed, sides) in enumerate(groups)
        if sides
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
    groups: Iterable[Group],
    recipe: Recipe,
    kept: Kept,
    make: Callable[[Group], dict[str, Record]],
    say: Callable[[str], None] = print,
    max_seconds: float = float("inf"),
    clock: Callable[[], float] = time.monotonic,
) -> list[Record]:
    """Makes the groups that have not been made; returns the records of all.

    Args:
        groups: See `plan`.
        recipe: Of all runs.
        kept: Where records are found and left.
        make: Makes a group and returns its results by side.
        say: Is told of every run.
        max_seconds: No group begins later than this.
        clock: For tests.
    """
    records, start = [], clock()
    for group in groups:
        task, seed, sides = group
        wanted = {side: key(task, recipe, seed, side) for side in sides}
        found = {side: kept.find(value) for side, value in wanted.items()}
        if not all(found.values()) and clock() - start <= max_seconds:
            try:
                made = make(group)
            except RunFailedError as error:
                say(f"{task.name} {seed} failed: {error}")
                continue
            found = {side: {**wanted[side], **made[side]} for side in sides}
            for side, record in found.items():
                kept.add(record)
                seconds = f"{record['seconds']} s"
                say(f"{task.name} {seed} {side}: {record['scores']}, {seconds}")
        records += [record for record in found.values() if record is not None]
    return records


def make_group(
    group: Group, recipe: Recipe, rows: tuple[list[Row], list[Row]], folder: Path
) -> dict[str, Record]:
    """Makes the runs of a group, each in a new process, and scores what they predict.

    The processes take turns of a few steps, so that a minute in which the machine is
    slow slows all sides.

    Args:
        group: Task, seed and sides.
        recipe: Of the runs.
        rows: The training and the development rows.
        folder: Where all processes leave files.

    Raises:
        RunFailedError: If a process fails; with the end of its log.
    """
    task, seed, sides = group
    job = {"task": task.to_dict(), "recipe": dataclasses.asdict(recipe), "seed": seed}
    job |= {"train": rows[0], "dev": rows[1]}
    with contextlib.ExitStack() as stack:
        runs = [
            stack.enter_context(Process(folder / side, {**job, "side": side}))
            for side in sides
        ]
        take_turns(runs)
    return {
        run.side: _scored(task, rows[1], run.folder) | {"sides": sides} for run in runs
    }


def take_turns(runs: Sequence["Process"]) -> None:
    """Lets each process work in its turn until all are done."""
    going = list(runs)
    while going:
        going = [run for run in going if run.take_turn()]


def _scored(task: Task, rows: list[Row], folder: Path) -> Record:
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    scores = score(task, rows, result.pop("predictions"))
    return {**result, "scores": scores}


class Process:
    """A process that works when it is its turn."""

    def __init__(self, folder: Path, job: Record) -> None:
        self.folder, self.side = folder, job["side"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")

    def __enter__(self) -> "Process":
        command = [sys.executable, "-m", "benchmarks.finetuning.worker"]
        self._log = open(self.folder / "log.txt", "wb")
        self._process = subprocess.Popen(
            [*command, str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **ENVIRONMENT},
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def take_turn(self) -> bool:
        """Lets the process work; returns whether it has more to do.

        Raises:
            RunFailedError: If it fails.
        """
        given, told = self._process.stdin, self._process.stdout
        assert given is not None
        assert told is not None
        with contextlib.suppress(BrokenPipeError):
            given.write("go\n")
            given.flush()
        for line in told:
            if line.strip() == YOUR_TURN:
                return True
        if code := self._process.wait():
            path = self.folder / "log.txt"
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            raise RunFailedError(f"{self.side}, exit {code}: {text[-1000:]}")
        return False
