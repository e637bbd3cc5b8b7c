"""One run: a side, a task and a seed in a process of its own.

    python -m benchmarks.finetuning.worker FOLDER

reads `FOLDER/job.json`, which the harness wrote, and writes `FOLDER/result.json`.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.finetuning import sides
from benchmarks.finetuning.subset import orders
from benchmarks.finetuning.tasks import Recipe, Task


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Trains and predicts; returns seconds, steps and predictions.

    `seconds` has a number an epoch, `first_step_seconds` what passed until the
    end of the first step: that is where Keras traces and XLA compiles.
    """
    task, recipe = Task.from_dict(job["task"]), Recipe(**job["recipe"])
    side = sides.make(job["side"], task, recipe, job["train"], job["seed"])
    steps = side.prepare()
    seconds, ends = [], []
    for order in orders(len(job["train"]), task.epochs, job["seed"]):
        start = time.perf_counter()
        ends.append([start])
        side.train(order, lambda: ends[-1].append(time.perf_counter()))
        seconds.append(time.perf_counter() - start)
    if any(len(epoch) != steps + 1 for epoch in ends):
        taken = [len(epoch) - 1 for epoch in ends]
        raise RuntimeError(f"Planned {steps} steps an epoch. Received: {taken}")
    start, first, *_ = ends[0]
    return {
        "steps": steps,
        "seconds": [round(x, 3) for x in seconds],
        "first_step_seconds": round(first - start, 3),
        "predictions": side.predict(job["dev"]),
    }


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    text = json.dumps(run(job))
    (folder / "result.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
