"""Precision, recall and F1 of entities, the metrics of CoNLL-2003."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice
from keras_bert_lite.layers.heads.crf import split_crf_scores
from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.layers.heads.tag_spans import tag_spans
from keras_bert_lite.layers.heads.viterbi import viterbi
from keras_bert_lite.tagging import span_types

AVERAGES = ("micro", "macro", None)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EntityF1(keras.metrics.Metric):
    """Harmonic mean of precision and recall of whole entities.

    `2 c / (t + p)` for `t` true and `p` predicted entities, of which `c` are correct,
    with the same words and type; 0 if there are none. Entities are decoded from tags
    as in `conlleval` and `seqeval.metrics.f1_score`. Each row is decoded separately:
    an entity that `token_dataset` cuts counts in both windows.

    A target outside `[0, L)` where the sample weight is not 0, or a NaN logit, turns
    the result into NaN, since a compiled graph cannot raise on every device.

    Args:
        labels: The L label names, such as `"B-PER"`.
        average: `"micro"`: the score of all entities together; `"macro"`: the mean
            over the types that occur; `None`: the score of each type, in the order
            of `types`.
        name, dtype: As in `keras.metrics.Metric`.

    Call arguments:
        y_true: Label indices of shape `(B, S)`.
        y_pred: Logits, `(B, S, L)`, or the output of a `layers.CRF`,
            `(B, S + L + 2, L)`, from which the best path is decoded.
        sample_weight: Positions, `(B, S)`, or rows, `(B,)`, with weight 0 are
            skipped; all other weights count as 1. `model.fit` passes it to the
            `weighted_metrics` of `compile` only.

    Returns:
        A number in [0, 1]; an array `(len(types),)` if `average` is `None`.

    Raises:
        ValueError: If a label has no prefix, or `average` is unknown.

    Reference: [Tjong Kim Sang and De Meulder, 2003](
    https://aclanthology.org/W03-0419/).
    """

    def __init__(
        self,
        labels: Sequence[str],
        average: str | None = "micro",
        name: str = "entity_f1",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_choice("average", average, AVERAGES)
        self.labels = check_labels(labels)
        self.average = average
        self.types = span_types(labels)
        self.counts = self.add_variable(
            (3, len(self.types)), "zeros", dtype=self.dtype, name="counts"
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        mask = targets_mask(y_true, sample_weight)
        known = (y_true >= 0) & (y_true < len(self.labels))
        tags = ops.where(known, y_true, 0)
        true = tag_spans(tags, mask, self.labels)
        predicted = tag_spans(best_tags(y_pred, mask), mask, self.labels)
        same = (true.ends == predicted.ends) & (true.types == predicted.types)
        hits = true.begins & predicted.begins & same
        counts = [
            self._count(begins, found.types)
            for begins, found in (
                (hits, true),
                (true.begins, true),
                (predicted.begins, predicted),
            )
        ]
        bad = ops.any(mask & ~known) | ops.any(ops.isnan(y_pred))
        self.counts.assign_add(ops.where(bad, float("nan"), ops.stack(counts)))

    def _count(self, begins, types):
        """Counts the spans of each type."""
        each = ops.one_hot(types, len(self.types), dtype=self.dtype)
        return ops.sum(ops.where(begins[:, :, None], each, 0), axis=(0, 1))

    def result(self):
        counts = ops.convert_to_tensor(self.counts)
        if self.average == "micro":
            return self._score(*ops.unstack(ops.sum(counts, axis=1), 3))
        scores = self._score(*ops.unstack(counts, 3))
        if self.average == "macro":
            some = ops.cast(counts[1] + counts[2] != 0, scores.dtype)
            return ops.divide_no_nan(ops.sum(scores * some), ops.sum(some))
        return scores

    def _score(self, hits, true, predicted):
        return ops.divide_no_nan(2 * hits, true + predicted)

    def get_config(self) -> dict[str, Any]:
        config = {"labels": list(self.labels), "average": self.average}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EntityPrecision(EntityF1):
    """The share of the predicted entities that are correct; see `EntityF1`."""

    def __init__(self, labels, average="micro", name="entity_precision", dtype=None):
        super().__init__(labels, average, name, dtype)

    def _score(self, hits, true, predicted):
        return ops.divide_no_nan(hits, predicted)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class EntityRecall(EntityF1):
    """The share of the entities that are found; see `EntityF1`."""

    def __init__(self, labels, average="micro", name="entity_recall", dtype=None):
        super().__init__(labels, average, name, dtype)

    def _score(self, hits, true, predicted):
        return ops.divide_no_nan(hits, true)


def targets_mask(y_true, sample_weight):
    """Returns where weights `(B, S)`, `(B,)` or `None` are not 0, `(B, S)` bool."""
    if sample_weight is None:
        return ops.ones(ops.shape(y_true), "bool")
    mask = ops.convert_to_tensor(sample_weight) != 0
    if len(mask.shape) < len(y_true.shape):
        mask = mask[:, None]
    return ops.broadcast_to(mask, ops.shape(y_true))


def best_tags(y_pred, mask):
    """Returns the best labels `(B, S)`, from logits or the scores of a CRF.

    The length of `y_pred` decides which of the two it is, at run time if not static.
    """
    length, rows = ops.shape(mask)[1], ops.shape(y_pred)[1]
    size = y_pred.shape[-1]

    def from_logits():
        return ops.cast(ops.argmax(y_pred, axis=-1), "int32")[:, :length]

    def from_scores():
        missing = length + size + 2 - rows  # 0
        padding = ((0, 0), (0, missing), (0, 0))
        return viterbi(split_crf_scores(ops.pad(y_pred, padding)), mask)[0]

    if isinstance(rows, int) and isinstance(length, int):
        return from_logits() if rows == length else from_scores()
    return ops.cond(ops.equal(rows, length), from_logits, from_scores)
