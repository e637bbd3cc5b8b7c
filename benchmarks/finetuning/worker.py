"""One run: a side, a task and a seed in a process of its own.

    python -m benchmarks.finetuning.worker FOLDER

reads `FOLDER/job.json`, which the harness wrote, and writes `FOLDER/result.json`.
"""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.finetuning import sides
from benchmarks.finetuning.clock import Moment
from benchmarks.finetuning.subset import orders
from benchmarks.finetuning.tasks import Recipe, Task


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Trains and predicts; returns seconds, steps and predictions.

    `seconds` has a number an epoch, `first_step_seconds` what passed until the
    end of the first step: that is where Keras traces and XLA compiles. `stolen`
    and `first_step_stolen` are what the hypervisor took of them.
    """
    task, recipe = Task.from_dict(job["task"]), Recipe(**job["recipe"])
    side = sides.make(job["side"], task, recipe, job["train"], job["seed"])
    steps = side.prepare()
    given = orders(len(job["train"]), task.epochs, job["seed"])
    epochs: list[list[Moment]] = []
    # Made before: who trains for longer makes a data set once, not for each epoch.
    for epoch in [side.epoch(order) for order in given]:
        moments = [Moment.now()]
        side.train(epoch, lambda moments=moments: moments.append(Moment.now()))
        epochs.append([*moments, Moment.now()])
    if any(len(moments) != steps + 2 for moments in epochs):
        taken = [len(moments) - 2 for moments in epochs]
        raise RuntimeError(f"Planned {steps} steps an epoch. Received: {taken}")
    taken = [moments[-1].since(moments[0]) for moments in epochs]
    first = epochs[0][1].since(epochs[0][0])
    return {
        "steps": steps,
        "seconds": [moment.wall for moment in taken],
        "stolen": [moment.stolen for moment in taken],
        "first_step_seconds": first.wall,
        "first_step_stolen": first.stolen,
        "predictions": side.predict(job["dev"]),
    }


def main() -> None:
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    text = json.dumps(run(job))
    (folder / "result.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
