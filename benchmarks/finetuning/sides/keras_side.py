"""What the two sides on Keras have in common: optimizer, loss and `fit`."""

import math
from typing import Any

import keras
import tensorflow as tf

from benchmarks.finetuning.sides.base import Row, Side


class KerasSide(Side):
    """A `keras.Model` that `fit` trains."""

    model: keras.Model

    def dataset(self, rows: list[Row]) -> tf.data.Dataset:
        """Returns the batches of the rows, in their order."""
        raise NotImplementedError

    def compile(self, steps: int) -> None:
        """Compiles the model for so many steps, as Keras does by default."""
        rate = WarmUpAndDecay(self.task.rate, steps, self.recipe.warmup)
        optimizer = keras.optimizers.AdamW(
            rate,
            weight_decay=self.recipe.weight_decay,
            epsilon=self.recipe.epsilon,
            global_clipnorm=self.recipe.clip_norm,
        )
        optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
        self.model.compile(optimizer, **self._losses())

    def _losses(self) -> dict[str, Any]:
        if self.task.kind == "number":
            return {"loss": keras.losses.MeanSquaredError()}
        options = {"from_logits": True}
        if self.task.kind == "tags":
            options["reduction"] = "mean_with_sample_weight"
        loss = keras.losses.SparseCategoricalCrossentropy(**options)
        if self.task.kind != "answer":
            return {"loss": loss}
        ends = ("start_logits", "end_logits")
        # Their mean, as transformers has it.
        return {
            "loss": dict.fromkeys(ends, loss),
            "loss_weights": dict.fromkeys(ends, 0.5),
        }

    def train(self, order, step_done):
        tell = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: step_done()
        )
        dataset = self.dataset([self.rows[i] for i in order])
        self.model.fit(dataset, shuffle=False, verbose=0, callbacks=[tell])


@keras.saving.register_keras_serializable(package="benchmarks")
class WarmUpAndDecay(keras.optimizers.schedules.LearningRateSchedule):
    """A rate that rises from zero to `peak` and falls to zero, both linearly.

    Args:
        peak: The highest rate.
        steps: Of the whole training.
        warmup: The share of them in which the rate rises.
    """

    def __init__(self, peak: float, steps: int, warmup: float) -> None:
        self.peak, self.steps, self.warmup = peak, steps, warmup

    def __call__(self, step):
        rise = math.ceil(self.warmup * self.steps)
        step = keras.ops.cast(step, "float32")
        rising = step / max(rise, 1)
        falling = (self.steps - step) / max(self.steps - rise, 1)
        return self.peak * keras.ops.maximum(keras.ops.minimum(rising, falling), 0.0)

    def get_config(self) -> dict[str, Any]:
        return {"peak": self.peak, "steps": self.steps, "warmup": self.warmup}
