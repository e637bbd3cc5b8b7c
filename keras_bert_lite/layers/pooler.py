"""Pooling: from a sequence of vectors to one vector."""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice
from keras_bert_lite.config import POOLINGS
from keras_bert_lite.layers.base import EncoderPart, padding_mask_of


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Pooler(EncoderPart):
    """Pools the real positions of a sequence.

    - `"cls"`: `x[0]`, the vector of the first token, `[CLS]`;
    - `"cls_dense"`: `tanh(W x[0] + b)`, BERT's pooler;
    - `"mean"`: the mean of the real positions;
    - `"max"`: the element-wise maximum of the real positions;
    - `"attention"`: the sum of the real positions, weighted by `softmax(w x + b)`;
    - `"mean_sqrt_len"`: the sum of the real positions over the root of their number;
    - `"weighted_mean"`: their mean, weighted by the position, 1 for the first;
    - `"last"`: the vector of the last real position.

    A row without real positions gives zeros, except for the two poolings of `[CLS]`.

    Args:
        pooling: One of the names above.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions. `None`: the
            Keras mask of `x`; without one, all are real.

    Output shape:
        `(B, H)`.
    """

    def __init__(
        self,
        pooling: str = "cls_dense",
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_choice("pooling", pooling, POOLINGS)
        self.pooling = pooling
        self.dense: Any = None  # as wide as the input, so made in `build`

    def build(self, x_shape, padding_mask_shape=None):
        if len(x_shape) != 3:
            raise ValueError(
                "`x` must have the shape (batch, sequence, hidden). "
                f"Received: {tuple(x_shape)}"
            )
        width = {"cls_dense": x_shape[-1], "attention": 1}.get(self.pooling)
        if width is not None:
            activation = "tanh" if self.pooling == "cls_dense" else None
            self.dense = self._dense(width, "dense", activation=activation)
            self.dense.build((x_shape[0], x_shape[-1]))

    def call(self, x, padding_mask=None):
        padding_mask = padding_mask_of(x, padding_mask)
        if padding_mask is None:
            padding_mask = ops.ones(ops.shape(x)[:2], "bool")
        real = ops.cast(padding_mask, "bool")[:, :, None]  # (B, S, 1)
        return {
            "cls": lambda: x[:, 0],
            "cls_dense": lambda: self.dense(x[:, 0]),
            "mean": lambda: _weighted(x, real, _shares(real)),
            "max": lambda: _max(x, real),
            "attention": lambda: _weighted(x, real, self._attention(x, real)),
            "mean_sqrt_len": lambda: _weighted(x, real, _shares(real, root=True)),
            "weighted_mean": lambda: _weighted(x, real, _shares(_places(real))),
            "last": lambda: _weighted(x, real, _last(real)),
        }[self.pooling]()

    def _attention(self, x, real):
        """Returns a softmax of scores over the real positions, (B, S, 1)."""
        scores = ops.cast(self.dense(x), "float32")
        return ops.softmax(ops.where(real, scores, -1e30), axis=1)

    def compute_mask(self, x, previous_mask):
        return None

    def compute_output_shape(self, x_shape, padding_mask_shape=None):
        return (x_shape[0], x_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "pooling": self.pooling}


def _shares(weights, root: bool = False):
    """Returns weights over their sum, or over the root of it: (B, S, 1)."""
    weights = ops.cast(weights, "float32")
    total = ops.maximum(ops.sum(weights, axis=1, keepdims=True), 1.0)
    return weights / (ops.sqrt(total) if root else total)


def _places(real):
    """Returns the positions of the real ones, from 1, and 0 for others: (B, S, 1)."""
    return ops.cast(real, "int32") * ops.arange(1, ops.shape(real)[1] + 1)[:, None]


def _last(real):
    """Returns 1 for the last real position and 0 for others, (B, S, 1)."""
    places = _places(real)
    last = ops.max(places, axis=1, keepdims=True)
    return ops.logical_and(real, ops.equal(places, last))


def _weighted(x, real, weights):
    """Sums the real positions of x (B, S, H) by weights (B, S, 1): (B, H)."""
    x = ops.where(real, x, ops.zeros_like(x))
    return ops.sum(x * ops.cast(weights, x.dtype), axis=1)


def _max(x, real):
    """Returns the element-wise maximum of the real positions, (B, H)."""
    peak = ops.max(ops.where(real, x, _lowest(x.dtype)), axis=1)
    return ops.where(ops.any(real, axis=1), peak, ops.zeros_like(peak))


def _lowest(dtype) -> float:
    """Returns a finite number of `dtype` below any activation."""
    return -6e4 if keras.backend.standardize_dtype(dtype) == "float16" else -1e30
