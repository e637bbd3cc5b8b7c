r"""Where the time goes in a training step on a CPU, operation by operation.

    BENCHMARK_THREADS=1 OMP_NUM_THREADS=1 \
        python -m benchmarks.finetuning.profile --data DATA --task mrpc

trains this package's side for some steps under TensorFlow's profiler, and transformers'
for some steps. The last line has the time of the CPU of both, and of this package's
products alone: no step can be shorter. Operations on two threads overlap and threads of
OpenMP spin, so take one thread to compare.
"""

import argparse
import itertools
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.finetuning.sides import OURS, TRANSFORMERS, make
from benchmarks.finetuning.subset import read
from benchmarks.finetuning.tasks import TASKS, Recipe
from benchmarks.inference.profile import show
from benchmarks.inference.sides.base import use_threads
from benchmarks.inference.worker import THREADS

BATCHES, WARM_UP, TIMED, TRACED = 12, 6, 24, 6
# Operations whose time is that of others inside them.
OUTER = ("PartitionedCall", "StatefulPartitionedCall", "While", "If")
OPERATION = re.compile(r"[^:]:([A-Z_]\w*)$")  # "name:Type"


def step_of(task: str, data: Path) -> tuple[Any, Any]:
    """Returns the compiled step of a task, and the batches that it takes."""
    this = TASKS[task]
    rows, _ = read(this, data)
    side = make(OURS, this, Recipe(), rows[: BATCHES * this.batch], 0)
    side.prepare()
    side.model.make_train_function()
    return side.model.train_function, iter(side.dataset(side.rows).repeat())


def traced(step: Any, batches: Any, runs: int) -> tuple[Counter, Counter]:
    """Returns microseconds and calls of each kind of operation."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2)
        tf.profiler.experimental.start(folder, options)
        for _ in range(runs):
            step(batches)
        tf.profiler.experimental.stop()
        (path,) = Path(folder).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace.FromString(path.read_bytes())
    times, calls = Counter(), Counter()
    for plane in space.planes:
        names = {key: x.name for key, x in plane.event_metadata.items()}
        for event in (event for line in plane.lines for event in line.events):
            found = OPERATION.search(names[event.metadata_id])
            if found and found[1] not in OUTER:
                times[found[1]] += event.duration_ps / 1e6
                calls[found[1]] += 1
    return times, calls


def timed(step: Any, batches: Any) -> tuple[float, float]:
    """Returns the seconds of a step, by the clock and of the CPU."""
    clock, cpu = time.perf_counter(), time.process_time()
    step(batches)
    return time.perf_counter() - clock, time.process_time() - cpu


def peer_milliseconds(task: str, data: Path) -> float:
    """Returns the CPU's time of a step of transformers; in a process without ours."""
    import torch

    torch.set_num_threads(THREADS)
    this = TASKS[task]
    rows, _ = read(this, data)
    rows = rows[: BATCHES * this.batch]
    side = make(TRANSFORMERS, this, Recipe(), rows, 0)
    side.prepare()
    marks: list[float] = []
    for _ in range(2):
        epoch = side.epoch(range(len(rows)))
        side.train(epoch, lambda: marks.append(time.process_time()))
    steps = [b - a for a, b in itertools.pairwise(marks[WARM_UP:])]
    return 1e3 * statistics.median(steps)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.finetuning.profile")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--task", choices=TASKS, default="mrpc")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(peer_milliseconds(options.task, options.data))
        return
    use_threads(THREADS)
    step, batches = step_of(options.task, options.data)
    for _ in range(WARM_UP):
        step(batches)
    found = zip(*(timed(step, batches) for _ in range(TIMED)), strict=True)
    clock, cpu = (1e3 * statistics.median(x) for x in found)
    print(f"{options.task}: {clock:.0f} ms a step by the clock, {cpu:.0f} of the CPU")
    times, calls = traced(step, batches, TRACED)
    show(times, calls, TRACED)
    products = sum(x for name, x in times.items() if "MatMul" in name)
    products *= cpu / sum(times.values())
    command = [sys.executable, "-m", __spec__.name, "--peer", *sys.argv[1:]]
    theirs = float(subprocess.check_output(command).split()[-1])
    print(
        f"of the CPU: {cpu:.0f} ms, products alone {products:.0f}; transformers "
        f"{theirs:.0f}: {cpu / theirs:.2f} and {products / theirs:.2f} of it"
    )


if __name__ == "__main__":
    main()
