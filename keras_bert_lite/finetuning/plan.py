"""How long, how fast and in which batches a model is fine-tuned."""

import dataclasses
import math

from keras_bert_lite.finetuning.recipe import RECIPE


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
        held_out: The held-out rows that there is time to read; `None`: all.
        warmup: The share of the steps in which the rate rises.
        freeze_embeddings: Whether the tables of the embeddings stay as they are.
        steps: Updates in total.
        evaluate_every: Steps between two evaluations; `steps` is a multiple.
        rows: The rows that an epoch has.
    """

    epochs: float
    batch_size: int
    learning_rate: float
    layer_decay: float | None
    seed: int
    linear_rows: int | None = None
    held_out: int | None = None
    warmup: float = RECIPE.warmup
    freeze_embeddings: bool = False
    steps: int = 1
    evaluate_every: int = 1
    rows: int = 0


def batch_size_for(rows: int) -> int:
    few = rows < RECIPE.small_batch_below
    return RECIPE.small_batch if few else RECIPE.batch


def rate_for(width: int, multiple: float = 1.0) -> float:
    """Returns the peak rate for encoders of a width, by a task's multiple of it."""
    rate = multiple * RECIPE.rate * (RECIPE.rate_width / width) ** 2
    return min(max(rate, RECIPE.rate_lowest), RECIPE.rate_highest)


def epochs_for(rows: int, multiple: int = 1) -> int:
    """Returns the passes over a number of rows, by a task's multiple of them."""
    fitting = (epochs for most, epochs in RECIPE.epochs if rows <= most)
    return multiple * next(fitting, 1)


def with_steps(plan: Plan, per_epoch: int, most: int | None = None) -> Plan:
    """Returns the plan with its number of steps, and when to evaluate.

    Args:
        plan: The plan with its epochs.
        per_epoch: The batches of an epoch.
        most: The most steps that there is time for.
    """
    steps = math.ceil(plan.epochs * per_epoch)
    steps = min(steps, most or steps)
    parts = max(1, round(RECIPE.evaluations * steps / per_epoch))
    every = max(1, round(steps / min(parts, RECIPE.evaluations_most)))
    steps = every * max(1, round(steps / every))
    epochs = round(steps / per_epoch, 2)
    return dataclasses.replace(plan, epochs=epochs, steps=steps, evaluate_every=every)
