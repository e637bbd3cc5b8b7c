"""Where the time goes in a training step on a CPU, operation by operation.

    python -m benchmarks.finetuning.profile --data DATA --task mrpc

trains this package's side for some steps under TensorFlow's profiler. Operations on two
threads overlap, so their sum may exceed the time of a step; the trace costs some too.
The last line is what the products alone take: no step can be shorter.
"""

import argparse
import re
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import tensorflow as tf

from benchmarks.finetuning.sides import OURS, make
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.finetuning.profile")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--task", choices=TASKS, default="mrpc")
    options = parser.parse_args()
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
    share = products / sum(times.values())
    print(f"products: {share:.2f} of the operations' time, {share * cpu:.0f} ms of CPU")


if __name__ == "__main__":
    main()
