"""Losses for sentence encoders, which move vectors of similar texts closer.

They take the output of a model built by `sentence_encoder_trainer`: C vectors per row,
`(B, C, H)`. Some losses ignore their targets; Keras still needs some, such as zeros
`(B,)`.
"""

from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_number


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class CosineSimilarityLoss(keras.losses.Loss):
    """`(cos(a, b) - y)^2`, the squared error of the cosine similarity of pairs.

    Args:
        reduction, name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Similarities from -1 to 1, `(B,)` or `(B, 1)`.
        y_pred: Vectors of pairs, `(B, 2, H)`.

    Reference: `CosineSimilarityLoss` in sentence-transformers.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str = "cosine_similarity_loss",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def __call__(self, y_true, y_pred, sample_weight=None):
        _check_texts(y_pred, 2, 2)
        return super().__call__(ops.reshape(y_true, (-1,)), y_pred, sample_weight)

    def call(self, y_true, y_pred):
        similarity = cosine_similarity(y_pred[:, 0], y_pred[:, 1])
        return ops.square(similarity - y_true)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class InBatchNegativesLoss(keras.losses.Loss):
    """Cross-entropy of finding each anchor's positive among all texts of the batch.

    `-log softmax_j(scale * cos(a_i, c_j))` at the i-th positive, where the c_j
    are the positives of all rows and, with more than two texts per row, the
    negatives of all rows.

    Args:
        scale: The factor for similarities.
        reduction, name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Ignored.
        y_pred: Vectors of anchors, positives and, optionally, negatives,
            `(B, C, H)`, where C is 2 or more.

    Reference: [Henderson et al., 2017](https://arxiv.org/abs/1705.00652), section
    4.4; `MultipleNegativesRankingLoss` in sentence-transformers.
    """

    def __init__(
        self,
        scale: float = 20.0,
        reduction: str | None = "sum_over_batch_size",
        name: str = "in_batch_negatives_loss",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")
        check_number("scale", scale)
        self.scale = scale

    def __call__(self, y_true, y_pred, sample_weight=None):
        _check_texts(y_pred, 2, None)
        return super().__call__(y_pred[:, 0, 0], y_pred, sample_weight)

    def call(self, y_true, y_pred):
        vectors = unit_vectors(y_pred)
        # Positives first, so that the i-th candidate is the i-th anchor's.
        others = ops.swapaxes(vectors[:, 1:], 0, 1)
        candidates = ops.reshape(others, (-1, vectors.shape[-1]))
        scores = self.scale * ops.matmul(vectors[:, 0], ops.transpose(candidates))
        right = self.scale * ops.sum(vectors[:, 0] * vectors[:, 1], axis=-1)
        return ops.logsumexp(scores, axis=-1) - right

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TripletLoss(keras.losses.Loss):
    """`max(0, |a - p| - |a - n| + margin)`: positives must be nearer than negatives.

    Args:
        margin: By how much. The distance of unit vectors is at most 2.
        reduction, name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Ignored.
        y_pred: Vectors of anchors, positives and negatives, `(B, 3, H)`.

    Reference: [Schroff et al., 2015](https://arxiv.org/abs/1503.03832), section 3.1,
    with the distance instead of its square, as in sentence-transformers.
    """

    def __init__(
        self,
        margin: float = 1.0,
        reduction: str | None = "sum_over_batch_size",
        name: str = "triplet_loss",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")
        check_number("margin", margin)
        self.margin = margin

    def __call__(self, y_true, y_pred, sample_weight=None):
        _check_texts(y_pred, 3, 3)
        return super().__call__(y_pred[:, 0, 0], y_pred, sample_weight)

    def call(self, y_true, y_pred):
        anchor, positive, negative = (y_pred[:, i] for i in range(3))
        further = _distance(anchor, positive) - _distance(anchor, negative)
        return ops.relu(further + self.margin)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "margin": self.margin}


def unit_vectors(x):
    """Scales vectors to length 1; zero vectors are left unchanged."""
    return x / ops.maximum(ops.sqrt(_squares(x)), 1e-12)


def cosine_similarity(a, b):
    """Returns the cosine of the angle between vectors: `(..., H)` -> `(...)`."""
    return ops.sum(unit_vectors(a) * unit_vectors(b), axis=-1)


def _squares(x):
    """Returns the sum of squares, but never 0, where `sqrt` has no gradient."""
    return ops.maximum(ops.sum(ops.square(x), axis=-1, keepdims=True), 1e-24)


def _distance(a, b):
    return ops.sqrt(_squares(a - b))[..., 0]


def _check_texts(y_pred, least: int, most: int | None) -> None:
    shape = tuple(y_pred.shape)
    texts = shape[1] if len(shape) == 3 and shape[1] is not None else least
    if len(shape) != 3 or texts < least or (most and texts > most):
        count = str(least) if most else f"{least} or more"
        raise ValueError(
            f"`y_pred` must hold the vectors of {count} texts per row, (batch, texts, "
            f"hidden). Received: shape {shape}"
        )
