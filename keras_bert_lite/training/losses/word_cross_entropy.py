"""The loss of words."""

from typing import Any

import keras

from keras_bert_lite.training.word_scores import cross_entropy


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class WordCrossEntropy(keras.losses.Loss):
    """Keras's sparse cross-entropy of logits, in fewer passes over them under JAX.

    By default it is the mean over the words that have a weight, or 0 if there are none.
    It is always computed in float32.

    Args:
        reduction, name: See `keras.losses.Loss`.

    Call arguments:
        y_true: Indices of classes, of shape `(B, S)`.
        y_pred: Logits of shape `(B, S, L)`.
        sample_weight: Of shape `(B, S)`.
    """

    def __init__(
        self,
        reduction: str | None = "mean_with_sample_weight",
        name: str = "sparse_categorical_crossentropy",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return cross_entropy(y_true, y_pred)
