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
from benchmarks.tpu.report import summary
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
        "versions": {name: metadata.version(name) for name in VERSIONS},
    }


def _counted(compiled: Any) -> dict[str, int]:
    found = collectives(compiled.as_text())
    return {" ".join(name): count for name, count in sorted(found.items())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tpu")
    parser.add_argument("--results", type=Path, default=RESULTS)
    path = parser.parse_args().results
    os.environ.update(ENVIRONMENT)
    from benchmarks.tpu.cases import cases

    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = [json.loads(line) for line in lines]
    for case in cases():
        fields = dataclasses.asdict(case)
        if any(fields == {name: x[name] for name in fields} for x in records):
            continue
        records.append(record(case))
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(records[-1]) + "\n")
        print(json.dumps(records[-1]), file=sys.stderr, flush=True)
    print(summary(records))


if __name__ == "__main__":
    main()
