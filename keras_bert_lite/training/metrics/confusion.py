"""The confusion matrix, on which classification metrics are based."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_positive


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ConfusionMatrix(keras.metrics.Metric):
    """Confusion matrix: counts of each pair of true and predicted class.

    Counts are summed over all batches, so metrics based on it are for whole epochs.

    Invalid targets (outside `[0, num_classes)`, not whole numbers, NaN) and NaN
    logits turn the result into NaN, since a compiled graph cannot raise on every
    device. Where the sample weight is 0, targets and logits may have any value.

    Args:
        num_classes: L, the number of classes.
        name, dtype: As in `keras.metrics.Metric`.

    Call arguments:
        y_true: Class indices of shape `(B,)`, `(B, 1)` or `(B, S)`.
        y_pred: Logits or probabilities, `(B, L)` or `(B, S, L)`; the predicted
            class is the one with the largest value.
        sample_weight: The weights, of the shape of the targets or `(B,)`.
            `model.fit` passes it to the `weighted_metrics` of `compile` only.

    Returns:
        The sums of the weights, `(L, L)`, by true and predicted class.

    Raises:
        ValueError: If the last axis of the logits is not `num_classes`, or there is
            not one target for each vector of logits.
    """

    def __init__(
        self,
        num_classes: int,
        name: str = "confusion_matrix",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_positive("num_classes", num_classes)
        self.num_classes = num_classes
        self.matrix = self.add_variable(
            (num_classes, num_classes), "zeros", dtype=self.dtype, name="matrix"
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = _one_a_row(ops.convert_to_tensor(y_true), y_pred, self.num_classes)
        true = self._one_hot(y_true)  # zeros where the target is invalid
        predicted = self._one_hot(ops.argmax(y_pred, axis=-1))
        known = ops.any(true > 0, -1) & ~ops.any(ops.isnan(y_pred), -1)
        weight = ops.ones_like(true[..., 0])
        if sample_weight is not None:
            weight = _spread(ops.cast(sample_weight, self.dtype), weight)
        weight = ops.where(known | (weight == 0), weight, float("nan"))
        axes = list(range(len(weight.shape)))
        self.matrix.assign_add(
            ops.tensordot(true * weight[..., None], predicted, axes=[axes, axes])
        )

    def _one_hot(self, x):
        classes = ops.arange(self.num_classes, dtype="float32")
        return ops.cast(ops.cast(x, "float32")[..., None] == classes, self.dtype)

    def result(self):
        return ops.convert_to_tensor(self.matrix)

    def counts(self):
        """Returns counts `(L,)` by class: correct, true and predicted."""
        return (
            ops.diagonal(self.matrix),
            ops.sum(self.matrix, axis=1),
            ops.sum(self.matrix, axis=0),
        )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}


def _one_a_row(y_true, y_pred, num_classes: int):
    """Returns the targets without a last axis of size 1, after a shape check."""
    rank = len(y_pred.shape) - 1
    if y_pred.shape[-1] != num_classes:
        raise ValueError(
            f"`y_pred` must have {num_classes} logits per row (`num_classes`). "
            f"Received: shape {tuple(y_pred.shape)}"
        )
    if len(y_true.shape) == rank + 1 and y_true.shape[-1] == 1:
        y_true = ops.squeeze(y_true, axis=-1)
    if len(y_true.shape) != rank:
        raise ValueError(
            "`y_true` must be one class, as a number, for each row of `y_pred`. "
            f"Received: shapes {tuple(y_true.shape)} and {tuple(y_pred.shape)}"
        )
    return y_true


def _spread(weight, like):
    """Broadcasts weights `(B,)`, `(B, 1)` or `(B, S)` to the shape of the targets."""
    if len(weight.shape) > len(like.shape):
        weight = ops.squeeze(weight, axis=-1)
    while len(weight.shape) < len(like.shape):
        weight = weight[..., None]
    return ops.broadcast_to(weight, ops.shape(like))
