"""Losses for sentence encoders, which move vectors of similar texts closer.

They take the output of a model built by `sentence_encoder_trainer`: C vectors per row,
`(B, C, H)`. Some losses ignore their targets; Keras still needs some, such as zeros
`(B,)`.
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_above_zero, check_number, check_positive


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
class CoSENTLoss(keras.losses.Loss):
    """Pairs that are more alike must have the larger cosine, whatever it is.

    `log(1 + sum_ij exp(scale (cos_j - cos_i)))` over all i, j of the batch with
    `y_i > y_j`. Only the order of the targets counts, so that they may have any scale.

    Args:
        scale: The factor for similarities.
        name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: How alike the texts of a pair are, `(B,)` or `(B, 1)`.
        y_pred: Vectors of pairs, `(B, 2, H)`.

    Returns:
        One number for the batch: its pairs have no losses of their own, so there are
        no sample weights.

    Reference: [Su, 2022](https://kexue.fm/archives/8847); `CoSENTLoss` in
    sentence-transformers.
    """

    def __init__(self, scale: float = 20.0, name: str = "cosent_loss") -> None:
        super().__init__(name=name, reduction="sum", dtype="float32")
        check_number("scale", scale)
        self.scale = scale

    def __call__(self, y_true, y_pred, sample_weight=None):
        _check_texts(y_pred, 2, 2)
        if sample_weight is not None:
            raise ValueError(
                "`sample_weight` must be `None`: the loss compares pairs with each "
                f"other. Received: {sample_weight!r:.80}"
            )
        return super().__call__(ops.reshape(y_true, (-1,)), y_pred)

    def call(self, y_true, y_pred):
        similarity = self.scale * cosine_similarity(y_pred[:, 0], y_pred[:, 1])
        more_alike = y_true[:, None] > y_true[None]
        differences = similarity[None] - similarity[:, None]
        wrong = ops.where(more_alike, differences, -float("inf"))
        zero = ops.zeros((1,), differences.dtype)
        return ops.logsumexp(ops.concatenate([zero, ops.reshape(wrong, (-1,))]))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "scale": self.scale}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ContrastiveLoss(keras.losses.Loss):
    """Texts that belong together must be near, others further than a margin.

    `(y d^2 + (1 - y) max(0, margin - d)^2) / 2` with the distance `d = 1 - cos(a, b)`.

    Args:
        margin: The distance from which on texts that do not belong together are left
            alone; it is at most 2.
        reduction, name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: 1 for texts that belong together, else 0; `(B,)` or `(B, 1)`.
        y_pred: Vectors of pairs, `(B, 2, H)`.

    Reference: [Hadsell et al.,
    2006](http://yann.lecun.com/exdb/publis/pdf/hadsell-chopra-lecun-06.pdf), section
    2.1; `ContrastiveLoss` in sentence-transformers.
    """

    def __init__(
        self,
        margin: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str = "contrastive_loss",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")
        check_number("margin", margin)
        self.margin = margin

    def __call__(self, y_true, y_pred, sample_weight=None):
        _check_texts(y_pred, 2, 2)
        return super().__call__(ops.reshape(y_true, (-1,)), y_pred, sample_weight)

    def call(self, y_true, y_pred):
        distance = 1 - cosine_similarity(y_pred[:, 0], y_pred[:, 1])
        near = ops.relu(self.margin - distance)
        return (y_true * ops.square(distance) + (1 - y_true) * ops.square(near)) / 2

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "margin": self.margin}


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


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MarginMSELoss(keras.losses.Loss):
    """A text must score above each of its negatives by as much as a teacher says.

    `mean_n (s_p - s_n - y_n)^2`, the squared error of the differences between scores,
    over the negatives n of a row. The score of a text is that of a ranker, or the
    product of its vector with the query's.

    Args:
        reduction, name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: The teacher's scores of the positive and the negatives, `(B, C - 1)`; or
            the score of the positive minus that of the negative, `(B, C - 2)` (or
            `(B,)` with one negative).
        y_pred: Vectors of queries, positives and negatives, `(B, C, H)`, where C is 3
            or more. Or a ranker's scores, of the positive first, `(B, C)`, where -inf
            is padding; `y_true` are then the teacher's scores, `(B, C)`.

    Reference: [Hofstaetter et al., 2020](https://arxiv.org/abs/2010.02666), section
    3.2; `MarginMSELoss` in sentence-transformers.
    """

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str = "margin_mse_loss",
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true = ops.convert_to_tensor(y_true, "float32")
        if len(y_pred.shape) == 2:  # a ranker's scores, and as many of the teacher
            differences = y_true[:, :1] - y_true[:, 1:]
            return super().__call__(differences, y_pred, sample_weight)
        _check_texts(y_pred, 3, None)
        y_pred = ops.cast(y_pred, self.dtype)
        y_pred = ops.einsum("bh,bch->bc", y_pred[:, 0], y_pred[:, 1:])
        if len(y_true.shape) == 1:
            y_true = y_true[:, None]
        negatives = y_pred.shape[1] - 1
        if y_true.shape[1] == negatives + 1:
            y_true = y_true[:, :1] - y_true[:, 1:]
        if y_true.shape[1] != negatives:
            raise ValueError(
                f"`y_true` must hold {negatives} differences or {negatives + 1} scores "
                f"per row. Received: {y_true.shape[1]}"
            )
        return super().__call__(y_true, y_pred, sample_weight)

    def call(self, y_true, y_pred):
        real = ops.not_equal(y_pred[:, 1:], -float("inf"))
        count = ops.sum(ops.cast(real, y_true.dtype), axis=-1)
        scores = ops.where(real, y_pred[:, 1:], ops.zeros_like(y_true))
        errors = ops.where(
            real, y_pred[:, :1] - scores - y_true, ops.zeros_like(y_true)
        )
        return ops.sum(ops.square(errors), axis=-1) / ops.maximum(count, 1)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class MatryoshkaLoss(keras.losses.Loss):
    """A loss of the first numbers of vectors too, so that they can be cut.

    `sum_d weight_d loss(y_true, y_pred[..., :d])`, where the cut vectors are scaled to
    length 1.

    Args:
        loss: A loss for sentence encoders.
        dimensions: The lengths d, at most H; `sentence_encoder(dimensions=d)` cuts
            vectors.
        weights: What each counts; `None`: 1.
        name: As in `keras.losses.Loss`.

    Call arguments:
        y_true, y_pred, sample_weight: Those of `loss`.

    Raises:
        ValueError: If there are no dimensions, one is above H, or there are not as many
            weights.

    Reference: [Kusupati et al., 2022](https://arxiv.org/abs/2205.13147), section 3;
    `MatryoshkaLoss` in sentence-transformers.
    """

    def __init__(
        self,
        loss: keras.losses.Loss,
        dimensions: Sequence[int],
        weights: Sequence[float] | None = None,
        name: str = "matryoshka_loss",
    ) -> None:
        super().__init__(name=name, dtype="float32")
        if not isinstance(loss, keras.losses.Loss):
            raise TypeError(f"`loss` must be a `keras.losses.Loss`. Received: {loss!r}")
        self.loss, self.dimensions = loss, list(dimensions)
        self.weights = [1.0] * len(self.dimensions) if weights is None else [*weights]
        if not self.dimensions or len(self.weights) != len(self.dimensions):
            raise ValueError(
                "`dimensions` must be at least one, with as many `weights`. Received: "
                f"{self.dimensions} and {weights}"
            )
        for length, weight in zip(self.dimensions, self.weights, strict=True):
            check_positive("dimensions", length)
            check_above_zero("weights", weight)

    def __call__(self, y_true, y_pred, sample_weight=None):
        width = y_pred.shape[-1]
        if max(self.dimensions) > width:
            raise ValueError(
                f"`dimensions` must be at most {width}, the length of the vectors. "
                f"Received: {self.dimensions}"
            )
        y_pred = ops.cast(y_pred, self.dtype)
        return sum(
            weight
            * self.loss(y_true, unit_vectors(y_pred[..., :length]), sample_weight)
            for length, weight in zip(self.dimensions, self.weights, strict=True)
        )

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "loss": keras.saving.serialize_keras_object(self.loss),
            "dimensions": self.dimensions,
            "weights": self.weights,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "MatryoshkaLoss":
        loss = keras.saving.deserialize_keras_object(config["loss"])
        return cls(**{**config, "loss": loss})


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
