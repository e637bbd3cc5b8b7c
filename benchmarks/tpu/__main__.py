"""Compiles the cases that the file of results does not have yet."""

import argparse
import dataclasses
import json
import os
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.tpu.hlo import collectives, elementwise
from benchmarks.tpu.report import is_largest, summary
from benchmarks.tpu.without_chip import ENVIRONMENT

RESULTS = Path(__file__).parents[1] / "results" / "tpu.jsonl"
TFLOPS = {"v5e": 197.0, "v6e": 918.0}  # peak of a chip, bfloat16
GIGABYTES = {"v5e": 819.0, "v6e": 1640.0}  # to and from memory in a second
VERSIONS = ("jax", "libtpu", "keras", "keras-hub")


def record(case: Any) -> dict[str, Any]:
    """Compiles a `Case` with 1 and 2 layers; the others cost what the second does."""
    from benchmarks.tpu import cases
    from benchmarks.tpu.compiling import measures

    started = time.monotonic()
    one, two = (cases.compiled(case, layers) for layers in (1, 2))
    seconds = round(time.monotonic() - started)
    first, second = ({**measures(x), **elementwise(x.as_text())} for x in (one, two))
    found = {
        name: first[name] + (case.layers - 1) * (second[name] - first[name])
        for name in first
    }
    if case.model > 1:  # so few layers lie in memory in another way
        found["gib"] = measures(cases.compiled(case, case.layers))["gib"]
    kernels = 1e3 * cases.kernel_seconds(case, TFLOPS[case.chip], GIGABYTES[case.chip])
    found["milliseconds"] += kernels
    chips = case.data * case.model
    needed = 3 * cases.products(case) / (chips * TFLOPS[case.chip] * 1e12)
    return {
        **dataclasses.asdict(case),
        "layers": case.layers,
        "layers_compiled": [1, 2],
        "mfu": round(needed / (found["milliseconds"] / 1e3), 3),
        **{name: round(value, 2) for name, value in found.items()},
        "kernel_milliseconds": round(kernels, 2),
        "collectives_of_2_layers": _counted(two) if chips > 1 else {},
        "seconds_to_compile": seconds,
    }


def _counted(compiled: Any) -> dict[str, int]:
    found = collectives(compiled.as_text())
    return {" ".join(name): count for name, count in sorted(found.items())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpu")
    parser.add_argument("--results", type=Path, default=RESULTS)
    path = parser.parse_args().results
    os.environ.update(ENVIRONMENT)
    from benchmarks.tpu import cases, largest

    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    steps = [x for x in records if not is_largest(x)]
    searched = [{**x, "rows": None} for x in records if is_largest(x)]
    for case in cases.cases():
        if not _has(steps, dataclasses.asdict(case)):
            records.append(_kept(record(case), path))
    for case in cases.largest_cases():
        if not _has(searched, {**dataclasses.asdict(case), "rows": None}):
            records.append(_kept(largest.record(case), path))
    print(summary(records))


def _has(records: list[dict[str, Any]], case: dict[str, Any]) -> bool:
    return any(case == {name: x[name] for name in case} for x in records)


def _kept(made: dict[str, Any], path: Path) -> dict[str, Any]:
    """Adds a record to the file, so that a run that is cut short goes on from it."""
    line = json.dumps({**made, "versions": {x: metadata.version(x) for x in VERSIONS}})
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line, file=sys.stderr, flush=True)
    return made


if __name__ == "__main__":
    main()
