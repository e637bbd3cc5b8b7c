"""Accuracy of tags, word by word."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.training.metrics.entity_f1 import best_tags, targets_mask


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class WordAccuracy(keras.metrics.Accuracy):
    """The share of words, or tokens, with a weight whose tag is right.

    Keras's accuracy of `(B, S)` targets averages each row first if the weights are
    `(B, S)`, so that words of short sentences count more.

    Args:
        name, **kwargs: See `keras.metrics.Accuracy`.

    Call arguments:
        y_true: Indices of tags `(B, S)`.
        y_pred: Their scores `(B, S, L)`, or the output of a `layers.CRF`,
            `(B, S + L + 2, L)`, from which the best path is decoded.
        sample_weight: Weights `(B, S)`, 0 where there is no target.
    """

    def __init__(self, name: str = "accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        tags = best_tags(y_pred, targets_mask(y_true, sample_weight))
        if sample_weight is not None:
            sample_weight = ops.reshape(sample_weight, (-1,))
        return super().update_state(
            ops.reshape(y_true, (-1,)), ops.reshape(tags, (-1,)), sample_weight
        )
