"""The progress of long runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite._progress_bar import can_redraw, progress_bar

SHOWN = ("loss", "val_loss")
CLEAR = "\r\x1b[K"  # the bar, for a line in its place


def progress_of(
    steps: int, save_every: int, verbose: str | int
) -> list[keras.callbacks.Callback]:
    """Returns the callbacks that show a run's progress in place of Keras's own.

    Args:
        steps: Total number of steps.
        save_every: Steps of each epoch of `fit`.
        verbose: That of `fit`. With a line per epoch, or none, Keras's own do.
    """
    return [RunProgress(steps, save_every)] if verbose in ("auto", 1) else []


class RunProgress(keras.callbacks.ProgbarLogger):
    """One progress bar for all epochs of `fit`, with the time left.

    It has the loss, of held-out data too, so that it fits a line. At each save a line
    above it has all metrics. They are means since the save before. In a log file there
    are only these lines, and the last state of the bar.

    Args:
        steps: Total number of steps. If the run is resumed, the bar has those left; if
            it ends early, the bar stops where it is.
        save_every: Steps of each epoch.
    """

    def __init__(self, steps: int, save_every: int) -> None:
        super().__init__()
        self._steps, self._every = steps, min(save_every, steps)
        self._before = self._done = 0
        self._redraws = can_redraw()
        self.progbar: keras.utils.Progbar | None = None

    def on_epoch_begin(self, epoch, logs=None):
        # A run that stopped within an epoch resumes with a shorter one.
        self._done = (epoch + 1) * self._every - self.target
        if self.progbar is not None:
            return
        self._before = self._done
        if self._done:
            print(f"Resumed after step {self._done} of {self._steps}.")
        self.progbar = progress_bar(self._steps - self._done, stateful_metrics=SHOWN)

    def on_train_batch_end(self, batch, logs=None):
        self._show(self._done + batch + 1, logs, finalize=False)

    def on_epoch_end(self, epoch, logs=None):
        done = (epoch + 1) * self._every
        values = " - ".join(f"{k}: {x:.5g}" for k, x in (logs or {}).items())
        clear = CLEAR if self._redraws else ""
        print(f"{clear}step {done}: {values}", flush=True)
        self._show(done, logs, finalize=done == self._steps)
        self._done = done

    def on_train_end(self, logs=None):
        if self.progbar is not None and self._done < self._steps:
            print()  # below the bar

    def _show(self, step: int, logs: dict[str, Any] | None, finalize: bool) -> None:
        values = [(k, x) for k, x in (logs or {}).items() if k in SHOWN]
        assert self.progbar is not None
        self.progbar.update(step - self._before, values, finalize)


def text_bar(paths: Sequence[Path], readings: int = 1) -> keras.utils.Progbar:
    """Returns a bar of the text that is read, in kB.

    Args:
        paths: The text files. If one is compressed, the total is unknown.
        readings: How often they are read.
    """
    packed = any(path.suffix in (".gz", ".xz") for path in paths)
    size = readings * sum(path.stat().st_size for path in paths)
    return progress_bar(None if packed else size / 1e3, unit_name="kB")
