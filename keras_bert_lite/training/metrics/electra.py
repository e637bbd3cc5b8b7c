"""Metrics of ELECTRA's discriminator."""

import keras
from keras import ops

from keras_bert_lite.training.losses.electra import was_replaced
from keras_bert_lite.training.word_scores import update_mean


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplacedTokenAccuracy(keras.metrics.Mean):
    """The share of tokens that are correctly classified as replaced or original.

    About nine in ten tokens are original, so predicting "original" everywhere scores
    about 0.9; see also `ReplacedTokenRecall`. The arguments are those of
    `losses.ReplacedTokenLoss`.
    """

    def __init__(self, name: str = "accuracy", dtype=None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        found = y_pred[..., 0] > 0
        right = ops.equal(found, was_replaced(y_true, y_pred))
        return update_mean(self, ops.cast(right, "float32"), sample_weight)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplacedTokenRecall(keras.metrics.Metric):
    """The share of the replaced tokens that are found.

    The arguments are those of `losses.ReplacedTokenLoss`.
    """

    def __init__(self, name: str = "recall", dtype=None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._recall = keras.metrics.Recall()

    def update_state(self, y_true, y_pred, sample_weight=None):
        found = y_pred[..., 0] > 0
        self._recall.update_state(was_replaced(y_true, y_pred), found, sample_weight)

    def result(self):
        return self._recall.result()

    def reset_state(self):
        self._recall.reset_state()
