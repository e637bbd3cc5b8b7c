"""The loss of a conditional random field."""

import keras
from keras import ops

from keras_bert_lite.layers.heads.crf import split_crf_scores
from keras_bert_lite.layers.heads.tag_spans import compact
from keras_bert_lite.layers.heads.viterbi import CRFScores, log_partition


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class CRFLoss(keras.losses.Loss):
    """The negative log-likelihood of label sequences under a `layers.CRF`.

    By default it is the sum over the rows divided by the number of targets, or 0 if
    there are none. Targets outside `[0, L)` make it NaN.

    Args:
        reduction: `"mean_with_sample_weight"`: see above;
            `"sum_over_batch_size"`: the mean over the rows; `"sum"`; or `None`:
            one value per row.
        name: Name of the loss.

    Call arguments:
        y_true: Label indices, of shape `(B, S)`.
        y_pred: The output of a `CRF` layer, `(B, S + L + 2, L)`.
        sample_weight: Of shape `(B, S)`: positions with weight 0 are skipped,
            wherever they are, and a row is weighted by the mean of its other
            weights. `(B,)`: weights of whole rows. `None`: all weights are 1.

    Raises:
        ValueError: If the shapes do not match.

    Reference: [Lample et al., 2016](https://arxiv.org/abs/1603.01360), section 2.2.
    """

    def __init__(
        self, reduction: str | None = "mean_with_sample_weight", name: str = "crf_loss"
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def __call__(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        _check_shapes(tuple(y_true.shape), tuple(y_pred.shape))
        if sample_weight is None:
            sample_weight = 1.0
        weights = ops.convert_to_tensor(sample_weight, "float32")
        if len(weights.shape) == 1:
            weights = weights[:, None]
        weights = ops.broadcast_to(weights, ops.shape(y_true))
        # Keras weights the rows' means by the rows' sums of weights.
        return super().__call__((y_true, weights), y_pred, ops.sum(weights, axis=1))

    def call(self, y_true, y_pred):
        tags, weights = y_true
        mask = weights != 0
        wrong = mask & ((tags < 0) | (tags >= y_pred.shape[-1]))
        tags = ops.where(wrong, 0, ops.cast(tags, "int32"))
        values = negative_log_likelihood(split_crf_scores(y_pred), tags, mask)
        count = ops.sum(ops.cast(mask, values.dtype), axis=1)
        values = values / ops.maximum(count, 1.0)
        return ops.where(ops.any(wrong, axis=1), float("nan"), values)


def negative_log_likelihood(scores: CRFScores, tags, mask):
    """Returns `log_partition - path_score`, `(B,)`; see `layers.heads.viterbi`."""
    # This shifts both terms equally; smaller numbers lose less precision.
    peaks = ops.stop_gradient(ops.max(scores.logits, axis=-1, keepdims=True))
    scores = scores._replace(logits=scores.logits - peaks)
    return log_partition(scores, mask) - path_score(scores, tags, mask)


def path_score(scores: CRFScores, tags, mask):
    """Returns the score of each row's path, `(B,)`.

    Args:
        scores: The scores of a CRF.
        tags: The path's labels, integers in `[0, L)`, of shape `(B, S)`; values
            where the mask is false are ignored.
        mask: True at the positions of the path.
    """
    mask = ops.cast(mask, "bool")
    tags = ops.where(mask, ops.cast(tags, "int32"), 0)
    chosen = ops.take_along_axis(scores.logits, tags[:, :, None], axis=2)[:, :, 0]
    real, tags = compact(mask, tags)
    size = scores.transitions.shape[-1]
    pairs = ops.reshape(scores.transitions, (-1, size * size))
    steps = ops.take_along_axis(pairs, tags[:, :-1] * size + tags[:, 1:], axis=1)
    last = ops.sum(ops.cast(real, "int32"), axis=1, keepdims=True) - 1
    last = ops.take_along_axis(tags, ops.maximum(last, 0), axis=1)
    total = (
        ops.sum(ops.where(mask, chosen, 0.0), axis=1)
        + ops.sum(ops.where(real[:, 1:], steps, 0.0), axis=1)
        + ops.take_along_axis(scores.starts, tags[:, :1], axis=1)[:, 0]
        + ops.take_along_axis(scores.ends, last, axis=1)[:, 0]
    )
    return ops.where(real[:, 0], total, 0.0)


def _check_shapes(y_true: tuple, y_pred: tuple) -> None:
    ranks = (len(y_true), len(y_pred))
    if ranks == (2, 3) and (
        None in (y_true[1], y_pred[1]) or y_pred[1] == y_true[1] + y_pred[2] + 2
    ):
        return
    raise ValueError(
        "`CRFLoss` needs the output of a CRF layer, as `token_classifier(crf=True)` "
        "has it: `y_pred` of the shape (B, S + L + 2, L), and `y_true` of (B, S). "
        f"Received: the shapes {y_pred} and {y_true}"
    )
