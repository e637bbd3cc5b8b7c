"""Matthews correlation coefficient, the metric of CoLA."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.training.metrics.confusion import ConfusionMatrix


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MatthewsCorrelation(ConfusionMatrix):
    """Matthews correlation of true and predicted classes, for any number (`R_k`).

    `(c s - t . p) / sqrt((s^2 - t . t) (s^2 - p . p))`, where `s` is the number of
    rows, `c` that of the correct ones, and `t` and `p`, `(L,)` each, the counts of
    true and predicted classes. It is 0 if all true, or all predicted, classes are
    the same, as in `sklearn.metrics.matthews_corrcoef`.

    Args:
        num_classes, name, dtype: See `ConfusionMatrix`, also for the effect of
            invalid targets.

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
    """Returns `s^2 - counts . counts`, exactly 0 if there is only one class."""
    return ops.sum(counts * (ops.sum(counts) - counts))
