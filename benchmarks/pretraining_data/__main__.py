"""The command line; see the package's docstring."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.inference.environment import environment
from benchmarks.inference.tables import table
from benchmarks.pretraining_data.worker import SIDES
from keras_bert_lite.text.text_files import opened

RESULTS = Path(__file__).parents[1] / "results"
ALONE = [side for side in SIDES if "all cores" not in side]
GROWING = "keras_bert_lite, all cores"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pretraining_data")
    add = parser.add_argument
    add("--text", required=True, type=Path, help="UTF-8, .gz or .xz if compressed")
    add("--vocabulary", required=True, type=Path)
    add("--megabytes", type=float, default=5, help="of text for each side")
    add("--rounds", type=int, default=3, help="0: only how memory grows")
    add("--growing", type=float, nargs="*", default=[10, 100, 1000], help="megabytes")
    add("--sides", nargs="+", choices=ALONE, default=ALONE)
    add("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    results: dict[str, Any] = {"environment": environment()}
    with tempfile.TemporaryDirectory(prefix="pretraining-data-") as work:
        text = Path(work) / "text.txt"
        write_text(options.text, text, options.megabytes)
        results["megabytes"] = options.megabytes
        results["runs"] = [
            {"side": side, **run(side, text, options.vocabulary)}
            for round_ in range(options.rounds)
            for side in options.sides[:: -1 if round_ % 2 else 1]
        ]
        results["growing"] = []
        for megabytes in options.growing:
            write_text(options.text, text, megabytes)
            made = run(GROWING, text, options.vocabulary)
            results["growing"].append({"megabytes": megabytes, **made})
    options.results.mkdir(parents=True, exist_ok=True)
    written = json.dumps(results, indent=1) + "\n"
    (options.results / "pretraining_data.json").write_text(written, encoding="utf-8")
    print(summary(results))


def write_text(source: Path, target: Path, megabytes: float) -> None:
    """Writes so many megabytes of a text, again and again if it is shorter."""
    left = int(megabytes * 1e6)
    with target.open("wb") as file:
        for line in _lines(source):
            file.write(line)
            left -= len(line)
            if left <= 0:
                return


def _lines(source: Path) -> Iterator[bytes]:
    while True:
        with opened(source) as file:
            yield from file
        yield b"\n"


def run(side: str, text: Path, vocabulary: Path) -> dict[str, Any]:
    module = "benchmarks.pretraining_data.worker"
    with tempfile.TemporaryDirectory(prefix="pretraining-data-") as directory:
        command = [sys.executable, "-m", module, side, text, vocabulary, directory]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    made = json.loads(done.stdout.splitlines()[-1])
    print(side, made, file=sys.stderr, flush=True)
    return made


def summary(results: dict[str, Any]) -> str:
    """Returns the two tables."""
    rows = []
    for side in dict.fromkeys(x["side"] for x in results["runs"]):
        runs = [x for x in results["runs"] if x["side"] == side]
        speed = statistics.median(x["tokens"] / x["seconds"] for x in runs)
        rows.append((side, speed, max(runs, key=lambda x: x["memory"])))
    slowest = next((speed for side, speed, _ in rows if side == "Google"), None)
    cells = [
        [
            side,
            f"{speed:,.0f}",
            f"{speed / slowest:.1f}" if slowest else "–",
            *mebibytes(most),
        ]
        for side, speed, most in rows
    ]
    memory = ["peak memory, MiB", "mapped files at the end, MiB"]
    head = ["side", "tokens/s", "times Google's", *memory]
    growing = [
        [f"{x['megabytes']:g}", f"{x['tokens'] / x['seconds']:,.0f}", *mebibytes(x)]
        for x in results["growing"]
    ]
    second = table(["MB of text", "tokens/s", *memory], growing)
    return f"{table(head, cells)}\n\n{second}"


def mebibytes(run_: dict[str, Any]) -> list[str]:
    return [f"{run_[name] / 2**20:,.0f}" for name in ("memory", "mapped_files")]


if __name__ == "__main__":
    main()
