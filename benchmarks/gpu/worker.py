"""One side and one workload in a process of its own; prints its seconds as JSON.

    python -m benchmarks.gpu.worker SIDE STEPS TASK LENGTH ROWS EPOCHS [--tiny]

STEPS is a file of `workloads.write_steps`.
"""

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.gpu import sides, workloads

BASE = "transformers"
JAX, TENSORFLOW, TORCH = ({"KERAS_BACKEND": x} for x in ("jax", "tensorflow", "torch"))
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
SIDES: dict[str, tuple[dict[str, str], Callable]] = {
    "JAX": (JAX, sides.keras_bert_lite),
    "TensorFlow": (TENSORFLOW, sides.keras_bert_lite),
    "TensorFlow, padding removed": (
        TENSORFLOW,
        functools.partial(sides.keras_bert_lite, unpadding=True),
    ),
    "torch": (TORCH, sides.keras_bert_lite),
    BASE: ({}, sides.transformers),
    f"{BASE}, compiled": ({}, functools.partial(sides.transformers, compiled=True)),
}


def seconds(epoch: sides.Epoch, epochs: int) -> list[float]:
    """Returns what each epoch took; one before them is not counted."""
    epoch()
    taken = []
    for _ in range(epochs):
        start = time.perf_counter()
        epoch()
        taken.append(time.perf_counter() - start)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.worker")
    add = parser.add_argument
    add("side", choices=SIDES)
    add("steps", type=Path)
    add("task", choices=workloads.TASKS)
    add("length", type=int)
    add("rows", choices=workloads.ROWS)
    add("epochs", type=int)
    add("--tiny", action="store_true")
    options = parser.parse_args()
    vocabulary_size, steps = workloads.read_steps(options.steps)
    sizes = sides.TINY if options.tiny else sides.SIZES
    sizes = {**sizes, "vocabulary_size": vocabulary_size}
    work = workloads.Workload(options.task, options.length, options.rows)
    epoch = SIDES[options.side][1](work, steps, sizes)
    print(json.dumps({"seconds": seconds(epoch, options.epochs)}))


if __name__ == "__main__":
    main()
