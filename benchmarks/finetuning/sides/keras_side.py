"""What the two sides on Keras have in common: loss and `fit`."""

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

    def optimizer(self, steps: int) -> keras.optimizers.Optimizer:
        """Returns the recipe's AdamW, for so many steps."""
        raise NotImplementedError

    def compile(self, steps: int) -> None:
        """Compiles the model for so many steps, as Keras does by default."""
        self.model.compile(self.optimizer(steps), **self._losses())

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

    def epoch(self, order):
        return self.dataset([self.rows[i] for i in order])

    def train(self, epoch, step_done):
        tell = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: step_done()
        )
        self.model.fit(epoch, shuffle=False, verbose=0, callbacks=[tell])
