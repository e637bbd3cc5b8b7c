"""Metrics of ELECTRA's discriminator."""

import keras
from keras import ops

from keras_bert_lite.training.losses.electra import was_replaced


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ReplacedTokenAccuracy(keras.metrics.MeanMetricWrapper):
    """The share of tokens that are correctly classified as replaced or original.

    About nine in ten tokens are original, so predicting "original" everywhere scores
    about 0.9; see also `ReplacedTokenRecall`. The arguments are those of
    `losses.ReplacedTokenLoss`.
    """

    def __init__(self, name: str = "accuracy", dtype=None) -> None:
        super().__init__(_right, name=name, dtype=dtype)

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}


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


def _right(y_true, y_pred):
    found = y_pred[..., 0] > 0
    return ops.cast(ops.equal(found, was_replaced(y_true, y_pred)), "float32")
