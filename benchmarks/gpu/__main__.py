"""The command line; see the package's docstring."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.gpu.worker import BASE, QUIET, SIDES
from benchmarks.gpu.workloads import (
    FILES,
    Workload,
    read_steps,
    tokens,
    workloads,
    write_steps,
)
from benchmarks.inference.environment import environment
from benchmarks.inference.harness import order
from benchmarks.inference.tables import table

RESULTS = Path(__file__).parents[1] / "results" / "gpu.json"
TOKENS = 16_384  # the places of a step whose rows are padded
STEPS, EPOCHS, ROUNDS = 16, 3, 3
Run = dict[str, Any]


def main() -> None:
    options = _parsed()
    with tempfile.TemporaryDirectory(prefix="gpu-") as temporary:
        folder = options.texts or Path(temporary)
        for length in FILES:
            path = folder / f"{length}.json"
            texts = max(2, options.tokens // length)
            if not path.exists():
                write_steps(options.data, length, texts, options.steps, path)
        if options.rounds:
            _take_turns(folder, options)


def _take_turns(folder: Path, options: argparse.Namespace) -> None:
    gpus = _gpus()
    if not gpus and not options.tiny:
        raise SystemExit("There is no GPU. To try the script on a CPU, pass --tiny.")
    results: dict[str, Any] = {"environment": environment(), "gpus": gpus}
    results |= {"tiny": options.tiny, "runs": []}
    for turn in range(options.rounds):
        for work in workloads():
            if work.name not in options.workloads:
                continue
            for side in order(options.sides, turn):
                path = folder / f"{work.length}.json"
                results["runs"].append(_run(side, work, path, options))
                if options.results:  # each time: the machine may be taken back
                    text = json.dumps(results, indent=1) + "\n"
                    options.results.write_text(text, encoding="utf-8")
    print(summary(results["runs"]))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    add, names = parser.add_argument, [x.name for x in workloads()]
    add("--data", type=Path, help="the folder of data sets")
    add("--texts", type=Path, help="a folder for the texts, tokenized, to read again")
    add("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    add("--workloads", nargs="+", choices=names, default=names)
    add("--rounds", type=int, default=ROUNDS, help="0: only tokenizes the texts")
    add("--steps", type=int, default=STEPS, help="of an epoch")
    add("--tokens", type=int, default=TOKENS, help="places of a step's padded rows")
    add("--python", nargs="*", default=[], metavar="SIDE=PATH")
    add("--tiny", action="store_true", help="two small layers, and no results")
    add("--results", type=Path)
    options = parser.parse_args()
    if options.results is None and not options.tiny:
        options.results = RESULTS
    options.python = dict(x.split("=", 1) for x in options.python)
    return options


def _run(side: str, work: Workload, steps: Path, options: argparse.Namespace) -> Run:
    """Runs a side; one that fails has its last line in place of seconds."""
    command = [options.python.get(side, sys.executable), "-m", "benchmarks.gpu.worker"]
    command += [side, steps, work.task, str(work.length), work.rows, str(EPOCHS)]
    done = subprocess.run(
        [*command, *(["--tiny"] if options.tiny else [])],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **QUIET, **SIDES[side][0]},
    )
    run: Run = {"side": side, "work": work.name, "tokens": tokens(read_steps(steps)[1])}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        run["error"] = lines[-1][:300]
    else:
        run |= json.loads(done.stdout.splitlines()[-1])
    print(run, file=sys.stderr, flush=True)
    return run


def summary(runs: list[Run]) -> str:
    """Returns the table: tokens a second, the median of all epochs, and its ratio."""
    works = list(dict.fromkeys(run["work"] for run in runs))
    rows = []
    for work in works:
        speeds = _speeds([run for run in runs if run["work"] == work])
        base = speeds.get(BASE)
        for side, speed in speeds.items():
            if speed is None:
                rows.append([work, side, "failed", ""])
            else:
                ratio = f"{speed / base:.2f}" if base else ""
                rows.append([work, side, f"{speed:,.0f}", ratio])
    return table(["workload", "side", "tokens/s", f"times {BASE}'"], rows)


def _speeds(runs: list[Run]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for side in SIDES:
        mine = [run for run in runs if run["side"] == side]
        speeds = [x["tokens"] / s for x in mine for s in x.get("seconds", [])]
        if mine:
            found[side] = statistics.median(speeds) if speeds else None
    return found


def _gpus() -> list[str]:
    """Returns the names and drivers of the GPUs, as NVIDIA's tool lists them."""
    if shutil.which("nvidia-smi") is None:
        return []
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total"]
    done = subprocess.run(
        [*query, "--format=csv,noheader"], capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else []


if __name__ == "__main__":
    main()
