"""The task of a model's output."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite._private import set_keras_mask


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TaskOutput(keras.layers.Layer):
    """Returns its input, without a Keras mask, and records the task of the output.

    Task builders append one to each output. `tasks.registry.task_of` reads it to
    find the task of a model, even after loading or cloning.

    Args:
        task: Name of the task, such as `"token_classification"`.
        output: Name of the output, such as `"logits"`.
        head: Names of the layers between the encoder and the output.
        options: Builder options that other code needs, such as the head's pooling or
            whether it reads windows. JSON types only.

    Call arguments:
        x: A tensor of any shape.

    Output shape:
        The shape of `x`.
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
        self.built = True

    def call(self, x):
        # Losses would weigh what has a mask by it, and the tasks' targets already say
        # which tokens count.
        set_keras_mask(x, None)
        return x

    def compute_mask(self, x, previous_mask):
        return None

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
