"""Losses for rankers: of one candidate, of pairs of candidates, or of whole lists.

They take the grades and the scores of C candidates per row, `(B, C)`. A candidate whose
score is -inf only fills up its list and does not count.
"""

import math
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_number, check_positive

LOG_2 = math.log(2)


class RankingLoss(keras.losses.Loss):
    """Base class: one number for the batch, of the candidates that are real.

    Rows have no losses of their own, so there are no sample weights.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name=name, reduction="sum", dtype="float32")

    def __call__(self, y_true, y_pred, sample_weight=None):
        if len(y_pred.shape) != 2 or len(y_true.shape) != 2:
            raise ValueError(
                "`y_true` and `y_pred` must hold the grades and the scores of a row's "
                "candidates, (batch, candidates). Received: shapes "
                f"{tuple(y_true.shape)} and {tuple(y_pred.shape)}"
            )
        if sample_weight is not None:
            raise ValueError(
                "`sample_weight` must be `None`: the loss compares the candidates of a "
                f"list. Received: {sample_weight!r:.80}"
            )
        return super().__call__(y_true, y_pred)

    def call(self, y_true, y_pred):
        real = ops.not_equal(y_pred, -float("inf"))
        zero = ops.zeros_like(y_pred)  # nothing infinite reaches a gradient
        grades, scores = (ops.where(real, x, zero) for x in (y_true, y_pred))
        return self._of_lists(grades, scores, real)

    def _of_lists(self, grades, scores, real):
        """Returns the loss of lists, `(B, C)` each; `real` are the candidates."""
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class PointwiseLoss(RankingLoss):
    """Each candidate is judged alone: binary cross-entropy of its score.

    `-y log sigmoid(s) - (1 - y) log(1 - sigmoid(s))`, averaged over the candidates of
    the batch.

    Args:
        name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Grades from 0 to 1, `(B, C)`.
        y_pred: Scores, `(B, C)`; -inf for padding.

    Reference: `BinaryCrossEntropyLoss` in sentence-transformers.
    """

    def __init__(self, name: str = "pointwise_loss") -> None:
        super().__init__(name=name)

    def _of_lists(self, grades, scores, real):
        losses = ops.softplus(scores) - grades * scores
        return _mean(losses, real)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RankNetLoss(RankingLoss):
    """Of two candidates, the one with the higher grade must have the higher score.

    `-log2 sigmoid(s_i - s_j)`, averaged over all i, j of a list with `y_i > y_j`, and
    over the lists of the batch together.

    Args:
        name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Grades, `(B, C)`; only their order counts.
        y_pred: Scores, `(B, C)`; -inf for padding.

    Reference: [Burges et al., 2005](https://doi.org/10.1145/1102351.1102363);
    `RankNetLoss` in sentence-transformers.
    """

    def __init__(self, name: str = "rank_net_loss") -> None:
        super().__init__(name=name)

    def _of_lists(self, grades, scores, real):
        return _mean(_pair_losses(scores), _ordered_pairs(grades, real))


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class ListNetLoss(RankingLoss):
    """The probability of each candidate to come first must be that of its grade.

    `-sum_c softmax(y)_c log softmax(s)_c`, averaged over the lists.

    Args:
        name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Grades, `(B, C)`.
        y_pred: Scores, `(B, C)`; -inf for padding.

    Reference: [Cao et al., 2007](https://doi.org/10.1145/1273496.1273513);
    `ListNetLoss` in sentence-transformers.
    """

    def __init__(self, name: str = "list_net_loss") -> None:
        super().__init__(name=name)

    def _of_lists(self, grades, scores, real):
        targets = ops.softmax(_without_padding(grades, real), axis=-1)
        logs = ops.log_softmax(_without_padding(scores, real), axis=-1)
        losses = ops.where(real, -targets * logs, ops.zeros_like(logs))
        return ops.mean(ops.sum(losses, axis=-1))


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LambdaLoss(RankingLoss):
    """`RankNetLoss`, where a pair counts by what swapping it changes in nDCG.

    The weight of candidates at the ranks i and j, by the scores, is
    `|G_i - G_j| (|1/D_i - 1/D_j| + mu |1/D_d - 1/D_(d+1)|)` with `d = |i - j|`, the
    discount `D_r = log2(1 + r)`, and the gain `G = 2^y - 1` as a share of the best
    order's discounted sum (NDCG-Loss2++).

    Args:
        k: Only pairs with a candidate among the first k count; `None`: all.
        mu: The weight of the second term; without it this is LambdaRank.
        name: As in `keras.losses.Loss`.

    Call arguments:
        y_true: Grades from 0, such as 0 and 1 or 0 to 4, `(B, C)`.
        y_pred: Scores, `(B, C)`; -inf for padding.

    Reference: [Wang et al., 2018](https://marc.najork.org/papers/cikm2018.pdf),
    equation 16; `LambdaLoss` in sentence-transformers.
    """

    def __init__(
        self, k: int | None = None, mu: float = 10.0, name: str = "lambda_loss"
    ) -> None:
        super().__init__(name=name)
        if k is not None:
            check_positive("k", k)
        check_number("mu", mu)
        self.k, self.mu = k, mu

    def _of_lists(self, grades, scores, real):
        order = ops.argsort(-_without_padding(scores, real), axis=-1)
        grades, scores, real = (
            ops.take_along_axis(x, order, axis=-1)
            for x in (grades, scores, ops.cast(real, "int32"))
        )
        pairs = _ordered_pairs(grades, ops.cast(real, "bool"))
        ranks = ops.cast(ops.arange(1, ops.shape(scores)[1] + 1), scores.dtype)
        first = ranks <= (self.k or math.inf)
        pairs = ops.logical_and(pairs, ops.logical_or(first[:, None], first))
        discounts = 1 / _log2(1 + ranks)
        best = 2 ** ops.flip(ops.sort(grades, axis=-1), axis=-1) - 1
        ideal = ops.sum(
            best * discounts * ops.cast(first, best.dtype), axis=-1, keepdims=True
        )
        gains = (2**grades - 1) / ops.maximum(ideal, 1e-10)
        weights = ops.absolute(_differences(discounts))
        distances = ops.absolute(_differences(ranks))
        steps = 1 / _log2(1 + ops.maximum(distances, 1)) - 1 / _log2(2 + distances)
        steps = ops.where(distances == 0, ops.zeros_like(steps), ops.absolute(steps))
        weights = ops.absolute(_differences(gains)) * (weights + self.mu * steps)
        return _mean(weights * _pair_losses(scores), pairs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "k": self.k, "mu": self.mu}


def _mean(values, counted):
    """Returns the mean of the values that count; 0 if none does."""
    values = ops.where(counted, values, ops.zeros_like(values))
    count = ops.sum(ops.cast(counted, values.dtype))
    return ops.sum(values) / ops.maximum(count, 1)


def _without_padding(x, real):
    """Puts a number in the place of padding that no real candidate reaches."""
    return ops.where(real, x, ops.full_like(x, -1e16))


def _differences(x):
    """Returns `x_i - x_j`: `(..., C)` -> `(..., C, C)`."""
    return x[..., :, None] - x[..., None, :]


def _ordered_pairs(grades, real):
    """Returns which i have a higher grade than j, `(B, C, C)`."""
    both = ops.logical_and(real[:, :, None], real[:, None, :])
    return ops.logical_and(both, _differences(grades) > 0)


def _pair_losses(scores):
    """Returns `-log2 sigmoid(s_i - s_j)`, `(B, C, C)`."""
    return ops.softplus(-_differences(scores)) / LOG_2


def _log2(x):
    return ops.log(x) / LOG_2
