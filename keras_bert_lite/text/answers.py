"""From a model's values to what a client wants to read."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.text.layer import TextLayer


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LabelAnswer(TextLayer):
    """Names the most probable label.

    Args:
        labels: The names of the labels, in the order of the logits.

    Call arguments:
        inputs: Logits of shape `(B, len(labels))`.

    Output shape:
        A dictionary: `label`, strings of shape `(B,)`; `scores`, the softmax
        of the logits, float32 of shape `(B, len(labels))`.
    """

    def __init__(self, labels: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.labels = list(labels)

    def call(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        logits = tf.cast(inputs, tf.float32)
        names = tf.gather(tf.constant(self.labels), tf.argmax(logits, axis=-1))
        return {"label": names, "scores": tf.nn.softmax(logits)}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        return {
            "label": keras.KerasTensor(inputs.shape[:-1], dtype="string"),
            "scores": keras.KerasTensor(inputs.shape, dtype="float32"),
        }

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "labels": list(self.labels)}
