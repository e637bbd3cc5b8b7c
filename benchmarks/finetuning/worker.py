"""One run: a side, a task and a seed in a process of its own.

    python -m benchmarks.finetuning.worker FOLDER

reads `FOLDER/job.json`, which the harness wrote, and writes `FOLDER/result.json`. It
works when a line comes in, and says when it waits for the next.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.finetuning import sides
from benchmarks.finetuning.subset import orders
from benchmarks.finetuning.tasks import Recipe, Task

YOUR_TURN = "your turn"
TURN = 6  # steps


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Trains and predicts; returns seconds, steps and predictions.

    `seconds` has a number an epoch, `step_seconds` a list an epoch. The first step
    of an epoch begins with its data, that of all with what Keras traces and XLA
    compiles. `cpu_seconds` is what all epochs took of the cores.
    """
    task, recipe = Task.from_dict(job["task"]), Recipe(**job["recipe"])
    side = sides.make(job["side"], task, recipe, job["train"], job["seed"])
    steps = side.prepare()
    given = orders(len(job["train"]), task.epochs, job["seed"])
    # Made before: who trains for longer makes a data set once, not for each epoch.
    epochs = [side.epoch(order) for order in given]
    cpu, timed = time.process_time(), [_train(side, epoch) for epoch in epochs]
    cpu = time.process_time() - cpu
    if any(len(seconds) != steps + 1 for seconds in timed):
        taken = [len(seconds) - 1 for seconds in timed]
        raise RuntimeError(f"Planned {steps} steps an epoch. Received: {taken}")
    return {
        "steps": steps,
        "seconds": [round(sum(seconds), 3) for seconds in timed],
        "step_seconds": [[round(x, 4) for x in seconds[:-1]] for seconds in timed],
        "cpu_seconds": round(cpu, 3),
        "predictions": side.predict(job["dev"]),
    }


def _train(side: sides.Side, epoch: Any) -> list[float]:
    """Returns the seconds of each step, and those behind the last one."""
    seconds: list[float] = []
    start = time.perf_counter()

    def step_done() -> None:
        nonlocal start
        seconds.append(time.perf_counter() - start)
        if len(seconds) % TURN == 0:
            hand_over()
        start = time.perf_counter()

    side.train(epoch, step_done)
    return [*seconds, time.perf_counter() - start]


def hand_over() -> None:
    """Lets the other sides work."""
    print(YOUR_TURN, file=sys.__stdout__, flush=True)
    wait_for_turn()


def wait_for_turn() -> None:
    if not sys.stdin.readline():
        raise SystemExit("the harness is gone")


def main() -> None:
    folder = Path(sys.argv[1])
    wait_for_turn()
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    text = json.dumps(run(job))
    (folder / "result.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
