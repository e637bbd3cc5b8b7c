"""Answers about a whole text: labels, numbers, choices."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.config import check_between
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


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LabelSetAnswer(TextLayer):
    """Names the labels whose probability exceeds a threshold.

    Args:
        labels: The names of the labels, in the order of the logits.
        threshold: A number between 0 and 1, both excluded.

    Call arguments:
        inputs: Logits of shape `(B, L)`.

    Output shape:
        A dictionary, both `(B, L)`, in the order of the argument `labels`:
        `labels`, strings, the names of those over the threshold and empty
        strings for the others; `scores`, float32, the sigmoid of the logits.

    Raises:
        ValueError: If the threshold is not between 0 and 1.
    """

    def __init__(
        self, labels: Sequence[str], threshold: float = 0.5, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        check_between("threshold", threshold, 0, 1)
        self.labels = list(labels)
        self.threshold = threshold

    def call(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        scores = tf.sigmoid(tf.cast(inputs, tf.float32))
        names = tf.constant(self.labels)
        return {
            "labels": tf.where(scores > self.threshold, names, ""),
            "scores": scores,
        }

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        return {
            "labels": keras.KerasTensor(inputs.shape, dtype="string"),
            "scores": keras.KerasTensor(inputs.shape, dtype="float32"),
        }

    def get_config(self) -> dict[str, Any]:
        config = {"labels": list(self.labels), "threshold": self.threshold}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class NumberAnswer(TextLayer):
    """Returns the numbers of a regression: one alone without its axis.

    Call arguments:
        inputs: Values of shape `(B, units)`.

    Output shape:
        A dictionary of float32: `score`, `(B,)`, if there is one number a text;
        `scores`, `(B, units)`, otherwise.
    """

    def call(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        values = tf.cast(inputs, tf.float32)
        one = values.shape[-1] == 1
        return {"score": values[:, 0]} if one else {"scores": values}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        batch, units = inputs.shape
        if units == 1:
            return {"score": keras.KerasTensor((batch,), dtype="float32")}
        return {"scores": keras.KerasTensor((batch, units), dtype="float32")}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ChoiceAnswer(TextLayer):
    """Picks one of several texts.

    Call arguments:
        inputs: A dictionary of `logits`, `(B, C)`, and `choices`, strings of the
            same shape.

    Output shape:
        A dictionary: `choice`, int32 `(B,)`, the index of the best; `answer`,
        strings `(B,)`, its text; `scores`, float32 `(B, C)`, the softmax.
    """

    def call(self, inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        logits = tf.cast(inputs["logits"], tf.float32)
        best = tf.argmax(logits, axis=-1, output_type=tf.int32)
        answer = tf.gather(inputs["choices"], best, batch_dims=1)
        return {"choice": best, "answer": answer, "scores": tf.nn.softmax(logits)}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        batch, choices = inputs["choices"].shape
        return {
            "choice": keras.KerasTensor((batch,), dtype="int32"),
            "answer": keras.KerasTensor((batch,), dtype="string"),
            "scores": keras.KerasTensor((batch, choices), dtype="float32"),
        }
