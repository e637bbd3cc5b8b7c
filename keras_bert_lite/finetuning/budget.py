"""How many steps there is time for."""

import time
import warnings
from typing import Any

import keras

from keras_bert_lite.finetuning.recipe import RECIPE


class Deadline(keras.callbacks.Callback):
    """Ends training at a time.

    Args:
        end: When, in `time.monotonic()`.
    """

    def __init__(self, end: float) -> None:
        super().__init__()
        self.end = end

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if time.monotonic() > self.end:
            self.model.stop_training = True


class Budget:
    """Time that training may take.

    The clock runs from `begin`, when the first step has been traced.

    Args:
        minutes: The time; `None`: no limit.
        reserve: Seconds that are kept for what comes after training.
    """

    def __init__(self, minutes: float | None, reserve: float) -> None:
        self.minutes = minutes
        self.reserve = reserve
        self._began = time.monotonic()

    def begin(self) -> None:
        self._began = time.monotonic()

    @property
    def deadline(self) -> float | None:
        """When training must end, in `time.monotonic()`."""
        if self.minutes is None:
            return None
        return self._began + 60 * self.minutes - self.reserve

    def deadlines(self, share: float = 1.0) -> list[Deadline]:
        """Returns what ends a training that may take a share of what is left."""
        if self.deadline is None:
            return []
        now = time.monotonic()
        return [Deadline(now + share * (self.deadline - now))]

    def held_out(self, step: float, batch_size: int) -> int:
        """Returns how many held-out rows there is time to read again and again.

        Args:
            step: Seconds of a training step.
            batch_size: Its rows.
        """
        assert self.minutes is not None
        row = self.reading(step, batch_size, 1)
        affordable = int(RECIPE.evaluation_share * 60 * self.minutes / row)
        return max(RECIPE.held_out_in_time, affordable)

    def linear_rows(self, step: float, batch_size: int, held_out: int) -> int:
        """Returns how many rows a linear model may be fitted to.

        The encoder reads them, and those held out, before the first training step.

        Args:
            step: Seconds of a training step.
            batch_size: Its rows.
            held_out: How many rows are held out.
        """
        assert self.minutes is not None
        row = self.reading(step, batch_size, 1)
        affordable = int(RECIPE.linear_share * 60 * self.minutes / row)
        return max(RECIPE.linear_rows, affordable - held_out)

    def reading(self, step: float, batch_size: int, rows: int) -> float:
        """Returns the seconds in which the encoder reads some rows."""
        return RECIPE.reading * step / batch_size * rows

    def warn_if_below(self, least: float) -> None:
        """Warns at once if a run takes longer, whatever it leaves out.

        Args:
            least: Seconds of one step and of all that is never left out.
        """
        assert self.minutes is not None
        if 60 * self.minutes < least:
            warnings.warn(
                f"`minutes` must be {least / 60:.2g} or more for these rows and this "
                "encoder; the run takes about that, for a single step of training. "
                f"Received: {self.minutes}",
                stacklevel=5,
            )

    def steps(self, step: float, overhead: float) -> int:
        """Returns how many steps fit into what is left, at least one.

        Args:
            step: Seconds of a training step and its share of the evaluations.
            overhead: Seconds of all else.
        """
        assert self.deadline is not None
        return max(1, int((self.deadline - time.monotonic() - overhead) / step))
