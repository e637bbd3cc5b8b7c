"""F1 score for multi-label classification."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_positive


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MultiLabelF1(keras.metrics.F1Score):
    """`keras.metrics.F1Score` of logits; a label needs `sigmoid(logit) > threshold`.

    Equals `sklearn.metrics.f1_score` with `zero_division=0`: a label that is neither
    true nor predicted has an F1 of 0 and counts in `"macro"`. Targets other than
    0 and 1, and any NaN, turn the result into NaN, since a compiled graph cannot
    raise on every device. Rows with a sample weight of 0 are ignored.

    Args:
        num_labels: L, the number of labels.
        average: `"micro"`: the F1 of all labels together; `"macro"`: the mean
            over the labels; `"weighted"`: their mean weighted by how often they
            are true; `None`: the F1 of every label.
        threshold: A probability between 0 and 1.
        name, dtype: As in `keras.metrics.Metric`.

    Call arguments:
        y_true: 0 or 1, of shape `(B, L)`.
        y_pred: Logits of shape `(B, L)`.
        sample_weight: The weights of the rows, `(B,)` or `(B, 1)`. `model.fit`
            passes it to the `weighted_metrics` of `compile` only.

    Returns:
        A number in [0, 1]; an array `(L,)` if `average` is `None`.

    Raises:
        ValueError: If `threshold` is not between 0 and 1, `average` is unknown, or
            targets or logits are not `(B, num_labels)`.
    """

    def __init__(
        self,
        num_labels: int,
        average: str | None = "micro",
        threshold: float = 0.5,
        name: str = "multi_label_f1",
        dtype: Any = None,
    ) -> None:
        check_positive("num_labels", num_labels)
        if not isinstance(threshold, float) or not 0 < threshold < 1:
            raise ValueError(
                f"`threshold` must be between 0.0 and 1.0. Received: {threshold!r}"
            )
        super().__init__(average=average, threshold=threshold, name=name, dtype=dtype)
        self.num_labels = num_labels

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = self._rows("y_true", y_true)
        y_pred = self._rows("y_pred", y_pred)
        known = ((y_true == 0) | (y_true == 1)) & ~ops.isnan(y_pred)
        y_true = ops.where(known, y_true, float("nan"))
        if sample_weight is not None:
            sample_weight = ops.reshape(ops.cast(sample_weight, self.dtype), (-1,))
            y_true = ops.where(sample_weight[:, None] == 0, 0.0, y_true)
        super().update_state(y_true, ops.sigmoid(y_pred), sample_weight)

    def _rows(self, name: str, values):
        values = ops.cast(values, self.dtype)
        if len(values.shape) != 2 or values.shape[-1] != self.num_labels:
            raise ValueError(
                f"`{name}` must have the shape (B, {self.num_labels}) "
                f"(`num_labels`). Received: shape {tuple(values.shape)}"
            )
        return values

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_labels": self.num_labels}
