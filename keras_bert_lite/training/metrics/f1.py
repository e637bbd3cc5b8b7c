"""F1 score of classes, the metric of MRPC and QQP."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice
from keras_bert_lite.training.metrics.confusion import ConfusionMatrix

AVERAGES = ("binary", "micro", "macro", "weighted", None)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class F1(ConfusionMatrix):
    """Harmonic mean of precision and recall, for class indices.

    `2 c / (t + p)` for a class that is true in `t` rows and predicted in `p`, in `c`
    of them correctly; 0 if there are none. Equals `sklearn.metrics.f1_score` with
    `labels=range(num_classes)`: a class that never occurs counts in `"macro"`.

    Args:
        num_classes: L, the number of classes.
        average: `"binary"`: the F1 of class 1 of two; `"micro"`: of all rows
            together, which is the accuracy; `"macro"`: the mean over the
            classes; `"weighted"`: their mean weighted by `t`; `None`: the F1 of
            every class.
        name, dtype: See `ConfusionMatrix`, also for the effect of invalid targets.

    Call arguments:
        y_true, y_pred, sample_weight: See `ConfusionMatrix`.

    Returns:
        A number in [0, 1]; an array `(L,)` if `average` is `None`.

    Raises:
        ValueError: If `average` is unknown, or `"binary"` with other than 2 classes.
    """

    def __init__(
        self,
        num_classes: int = 2,
        average: str | None = "binary",
        name: str = "f1",
        dtype: Any = None,
    ) -> None:
        super().__init__(num_classes, name=name, dtype=dtype)
        check_choice("average", average, AVERAGES)
        if average == "binary" and num_classes != 2:
            raise ValueError(
                '`average` must not be "binary" unless `num_classes` is 2. '
                f"Received: num_classes={num_classes}"
            )
        self.average = average

    def result(self):
        hits, true, predicted = self.counts()
        if self.average == "micro":
            hits, true, predicted = ops.sum(hits), ops.sum(true), ops.sum(predicted)
        scores = ops.divide_no_nan(2 * hits, true + predicted)
        if self.average == "binary":
            return scores[1]
        if self.average == "macro":
            return ops.mean(scores)
        if self.average == "weighted":
            return ops.divide_no_nan(ops.sum(scores * true), ops.sum(true))
        return scores

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "average": self.average}
