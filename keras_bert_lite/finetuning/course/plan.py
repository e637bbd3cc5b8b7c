"""How long, how fast and in which batches a model is fine-tuned."""

import dataclasses
import math

# Peak rate at the width of MiniLM (384); it falls with the square of the width.
RATE, WIDTH = 1e-4, 384
LOWEST, HIGHEST = 1e-5, 5e-4
BATCH = 32
SMALL_BATCH = 16
SMALL = 500  # rows from which on batches are large
EPOCHS = ((100, 10), (500, 6), (2000, 3), (10_000, 2))  # up to so many rows
EVALUATIONS = 2  # an epoch
FIRST = 0.5  # share of the steps that read only the rows that a task begins with


@dataclasses.dataclass(frozen=True)
class Plan:
    """What training does.

    Args:
        epochs: Passes over the rows; a part of one if there is no more time.
        batch_size: Rows (windows) of a step.
        learning_rate: The peak rate.
        layer_decay: See `bert_adamw`.
        seed: Of the order, the dropout and the held-out rows.
        linear_rows: Rows that the linear model is fitted to; `None`: all.
        warmup: The share of the steps in which the rate rises.
        steps: Updates in total.
        evaluate_every: Steps between two evaluations; `steps` is a multiple.
    """

    epochs: float
    batch_size: int
    learning_rate: float
    layer_decay: float | None
    seed: int
    linear_rows: int | None = None
    warmup: float = 0.1
    steps: int = 1
    evaluate_every: int = 1


def batch_size_for(rows: int) -> int:
    return SMALL_BATCH if rows < SMALL else BATCH


def rate_for(width: int, multiple: float = 1.0) -> float:
    """Returns the peak rate for encoders of a width, by a task's multiple of it."""
    rate = multiple * RATE * (WIDTH / width) ** 2
    return min(max(rate, LOWEST), HIGHEST)


def epochs_for(rows: int, multiple: int = 1) -> int:
    """Returns the passes over a number of rows, by a task's multiple of them."""
    return multiple * next((epochs for most, epochs in EPOCHS if rows <= most), 1)


def with_steps(plan: Plan, per_epoch: int, most: int | None = None) -> Plan:
    """Returns the plan with its number of steps, and when to evaluate.

    Args:
        plan: The plan with its epochs.
        per_epoch: The batches of an epoch.
        most: The most steps that there is time for.
    """
    steps = math.ceil(plan.epochs * per_epoch)
    steps = min(steps, most or steps)
    parts = max(1, round(EVALUATIONS * steps / per_epoch))
    every = max(1, round(steps / min(parts, 8)))
    steps = every * max(1, round(steps / every))
    epochs = round(steps / per_epoch, 2)
    return dataclasses.replace(plan, epochs=epochs, steps=steps, evaluate_every=every)
