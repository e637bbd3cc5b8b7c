"""What an output of a model is for."""

from collections.abc import Sequence
from typing import Any

import keras


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TaskOutput(keras.layers.Layer):
    """Returns its input, and records which task's output that is.

    The builder of a task puts one behind each output. Whoever needs to know what a
    model does reads it here (`models.tasks.registry.task_of`), after loading and
    cloning too.

    Args:
        task: Name of the task, such as `"token_classification"`.
        output: Name of the output, such as `"logits"`.
        head: Names of the layers in the same model that make the output from the
            encoder's.
        options: How the model was built, where that matters to others: what the
            head pools, whether it reads windows. Of JSON's types.

    Call arguments:
        x: A tensor of any shape.

    Output shape:
        That of `x`.
    """

    def __init__(
        self,
        task: str,
        output: str,
        head: Sequence[str] = (),
        options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"name": output, **kwargs}, autocast=False)
        self.task = task
        self.output_name = output
        self.head = tuple(head)
        self.options = dict(options or {})
        self.supports_masking = True
        self.built = True

    def call(self, x):
        return x

    def compute_output_shape(self, x_shape):
        return x_shape

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, dtype=x.dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "task": self.task,
            "output": self.output_name,
            "head": list(self.head),
            "options": self.options,
        }
