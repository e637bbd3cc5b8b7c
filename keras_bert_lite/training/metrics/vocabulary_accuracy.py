"""Accuracy of words chosen from a vocabulary."""

from typing import Any

import keras

from keras_bert_lite.training.word_scores import hits, update_mean


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class VocabularyAccuracy(keras.metrics.SparseCategoricalAccuracy):
    """The share of targets, by their weights, that have the highest score.

    Keras's accuracy converts the ids to the dtype of the scores: in bfloat16, large ids
    that differ by less than 128 are the same to it.

    Args:
        name, dtype: See `keras.metrics.Metric`.

    Call arguments:
        y_true: Ids `(B, S)`.
        y_pred: Scores `(B, S, V)`.
        sample_weight: Weights `(B, S)`.
    """

    def __init__(self, name: str = "accuracy", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        return update_mean(self, hits(y_true, y_pred), sample_weight)
