"""Pearson correlation coefficient, the metric of STS-B."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class PearsonCorrelation(keras.metrics.Metric):
    """Pearson correlation of targets and predictions over a whole epoch.

    `cov(x, y) / sqrt(var(x) var(y))`, as in `scipy.stats.pearsonr`. (Keras's metric
    of this name correlates along the last axis of each row and averages over the
    rows, which is a different quantity.) As in scipy, it is NaN if targets or
    predictions are constant. A NaN or infinity in either of them gives NaN, unless
    its sample weight is 0.

    The state holds means and centred moments relative to the first values, and
    batches are merged with Chan's formula: in float32, sums of squares would lose all
    digits if the mean is large. Under `tf.distribute`, each replica centres on its
    own mean; the difference vanishes as the number of rows grows.

    Args:
        name, dtype: As in `keras.metrics.Metric`.

    Call arguments:
        y_true: Numbers of shape `(B,)` or `(B, 1)`.
        y_pred: Numbers of shape `(B,)` or `(B, 1)`.
        sample_weight: The weights of the rows, `(B,)` or `(B, 1)`. `model.fit`
            passes it to the `weighted_metrics` of `compile` only.

    Returns:
        A number in [-1, 1], or NaN.

    Raises:
        ValueError: If targets or predictions have more than one number per row.

    Reference: [Chan et al., 1979](http://i.stanford.edu/pub/cstr/reports/cs/tr/79/773/CS-TR-79-773.pdf).
    """

    def __init__(self, name: str = "pearson_correlation", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.weight = self._zeros((), "weight")
        self.origin = self._zeros((2,), "origin")
        self.mean = self._zeros((2,), "mean")
        self.moments = self._zeros((2, 2), "moments")

    def _zeros(self, shape: tuple[int, ...], name: str):
        return self.add_variable(shape, "zeros", dtype=self.dtype, name=name)

    def update_state(self, y_true, y_pred, sample_weight=None):
        x = ops.stack([self._column("y_true", y_true), self._column("y_pred", y_pred)])
        weights = ops.ones_like(x[0])
        if sample_weight is not None:
            weights = self._column("sample_weight", sample_weight)
            x = ops.where(weights == 0, 0.0, x)
        first = ops.take(x, ops.argmax(weights), axis=1)  # a row with weight
        kept = ops.convert_to_tensor(self.origin)
        origin = ops.where(self.weight == 0, first, kept)
        x = ops.where(weights == 0, 0.0, x - origin[:, None])  # (2, B)

        weight = ops.sum(weights)
        mean = ops.divide_no_nan(ops.sum(x * weights, axis=1), weight)
        centred = x - mean[:, None]
        moments = ops.matmul(centred * weights, ops.transpose(centred))
        self._join(weight, mean, moments)
        self.origin.assign(origin)

    def _join(self, weight, mean, moments) -> None:
        """Merges a batch's sum of weights, mean `(2,)` and moments `(2, 2)`."""
        share = ops.divide_no_nan(weight, self.weight + weight)
        step = mean - self.mean
        between = self.weight * share * ops.outer(step, step)
        self.moments.assign_add(moments + between)
        self.mean.assign_add(step * share)
        self.weight.assign_add(weight)

    def _column(self, name: str, values):
        values = ops.cast(values, self.dtype)
        if len(values.shape) != 1 and tuple(values.shape[1:]) != (1,):
            raise ValueError(
                f"`{name}` must be one number per row, (B,) or (B, 1). "
                f"Received: shape {tuple(values.shape)}"
            )
        return ops.reshape(values, (-1,))

    def result(self):
        spread = ops.sqrt(ops.diagonal(self.moments))
        return ops.clip(self.moments[0, 1] / spread[0] / spread[1], -1.0, 1.0)
