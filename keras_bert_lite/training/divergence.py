"""A training that diverges: it ends before anything is scored or saved."""

import math
from typing import Any

import keras

from keras_bert_lite._finite import NotFinite


class Diverged(NotFinite):
    """A training whose loss, weights or scores are no longer finite.

    Args:
        found: What is not finite.
        optimizer: The optimizer, whose learning rate the message has.
    """

    def __init__(self, found: str, optimizer: keras.optimizers.Optimizer) -> None:
        rule = f"`learning_rate` must be smaller, as training has diverged: {found}"
        super().__init__(rule, str(peak_rate(optimizer)))


class StopAtDivergence(keras.callbacks.Callback):
    """Ends `fit` with an error as soon as its loss is not finite.

    The loss in the logs is a mean since the epoch began, so it stays NaN. That of a
    step is read when the next one has ended: read at once, it would make an
    accelerator wait.

    Raises:
        Diverged: If the loss is NaN or infinite.
    """

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._loss: Any = 0.0

    def on_train_batch_end(
        self, batch: int, logs: dict[str, Any] | None = None
    ) -> None:
        before, self._loss = self._loss, (logs or {}).get("loss", 0.0)
        self._check(before)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._check((logs or {}).get("loss", 0.0))

    def _check(self, loss: Any) -> None:
        if not math.isfinite(float(loss)):
            raise Diverged(f"a loss of {float(loss)}", self.model.optimizer)


def peak_rate(optimizer: keras.optimizers.Optimizer) -> Any:
    """Returns the learning rate that an optimizer was given, or of a schedule the peak.

    Of a schedule without a `peak`, it is the configuration.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # of `LossScaleOptimizer`
    rate = inner.get_config()["learning_rate"]
    if not isinstance(rate, dict):
        return float(f"{float(rate):.6g}")  # a float32
    config = rate["config"]
    return config.get("peak", config)
