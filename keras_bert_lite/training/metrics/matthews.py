"""Matthews's correlation coefficient, which CoLA is measured by."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.training.metrics.confusion import ConfusionMatrix


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MatthewsCorrelation(ConfusionMatrix):
    """Correlation of true and predicted classes, of any number of classes (`R_k`).

    `(c s - t . p) / sqrt((s^2 - t . t) (s^2 - p . p))`, where `s` rows, `c` of
    them right, have the true classes `t` and the predicted ones `p`, `(L,)` each.
    It is 0 where the truth, or the prediction, is always the same class, as in
    `sklearn.metrics.matthews_corrcoef`.

    Args:
        num_classes, name, dtype: See `ConfusionMatrix`, which also says what
            a bad target does.

    Call arguments:
        y_true, y_pred, sample_weight: See `ConfusionMatrix`.

    Returns:
        A number in [-1, 1].

    Reference: [Gorodkin, 2004](https://doi.org/10.1016/j.compbiolchem.2004.09.006).
    """

    def __init__(
        self, num_classes: int, name: str = "matthews_correlation", dtype: Any = None
    ) -> None:
        super().__init__(num_classes, name=name, dtype=dtype)

    def result(self):
        hits, true, predicted = self.counts()
        missed, wrong = true - hits, predicted - hits
        neither = ops.sum(true) - true - wrong
        # `c s - t . p` without the difference of two large numbers
        covariance = ops.sum(hits * neither - missed * wrong)
        spread = ops.sqrt(_spread(true)) * ops.sqrt(_spread(predicted))
        return ops.divide_no_nan(covariance, spread)


def _spread(counts):
    """`s^2 - counts . counts`, exactly 0 if all is one class."""
    return ops.sum(counts * (ops.sum(counts) - counts))
