"""What a side does."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.finetuning.tasks import Recipe, Task

Row = dict[str, Any]


class Side:
    """A library that is fine-tuned with.

    Args:
        task: What is trained.
        recipe: How.
        rows: The rows to train on.
        seed: Of the head and of dropout.
    """

    def __init__(self, task: Task, recipe: Recipe, rows: list[Row], seed: int) -> None:
        self.task, self.recipe, self.rows, self.seed = task, recipe, rows, seed

    def prepare(self) -> int:
        """Loads and builds everything; returns the number of steps in an epoch."""
        raise NotImplementedError

    def epoch(self, order: Sequence[int]) -> Any:
        """Makes what `train` goes through: the rows in this order."""
        return order

    def train(self, epoch: Any, step_done: Callable[[], None]) -> None:
        """Trains for an epoch; tells of each step's end."""
        raise NotImplementedError

    def predict(self, rows: list[Row]) -> list[Any]:
        """Returns what `score` takes."""
        raise NotImplementedError

    def head(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first kernel `(width, outputs)` and bias of the head."""
        shape, deviation = (width, self.task.outputs), self.recipe.head_deviation
        kernel = np.random.default_rng(self.seed).normal(0.0, deviation, shape)
        return kernel.astype(np.float32), np.zeros(shape[1], np.float32)
