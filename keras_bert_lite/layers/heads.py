"""Heads: from an encoder's outputs to a task's values."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite.config import check_rate
from keras_bert_lite.layers.base import CompositeLayer, initializer


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ClassificationHead(CompositeLayer):
    """Dropout and a dense layer with one logit for each label.

    Args:
        labels: The names of the labels, in the order of the logits.
        dropout: Rate of dropout on the input.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(..., H)`.

    Output shape:
        `(..., len(labels))`.

    Raises:
        ValueError: If there are fewer than two labels, or duplicates.
    """

    def __init__(
        self,
        labels: Sequence[str],
        dropout: float = 0.1,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_rate("dropout", dropout)
        self.labels = check_labels(labels)
        self.dropout_rate = dropout
        self.initializer_range = initializer_range
        self.dropout = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy, name="dropout"
        )
        self.dense = keras.layers.Dense(
            len(self.labels),
            kernel_initializer=initializer(initializer_range),
            dtype=self.dtype_policy,
            name="dense",
        )

    def build(self, x_shape):
        self.dropout.build(x_shape)
        self.dense.build(x_shape)

    def call(self, x, training=None):
        return self.dense(self.dropout(x, training=training))

    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], len(self.labels))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "labels": list(self.labels),
            "dropout": self.dropout_rate,
            "initializer_range": self.initializer_range,
        }


def check_labels(labels: Sequence[str]) -> list[str]:
    """Returns the labels as a list, or says what is wrong with them."""
    if (
        isinstance(labels, str)
        or not isinstance(labels, Sequence)
        or not all(isinstance(x, str) for x in labels)
    ):
        raise TypeError(f"`labels` must be a list of strings. Received: {labels!r}")
    labels = list(labels)
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError(
            f"`labels` must be at least two different names. Received: {labels}"
        )
    return labels
