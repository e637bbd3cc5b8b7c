"""Conditional random fields."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert_lite.layers.heads.dense_heads import check_labels
from keras_bert_lite.layers.heads.viterbi import CRFScores, viterbi
from keras_bert_lite.tagging import allowed_transitions

FORBIDDEN = -1e4


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class CRF(keras.layers.Layer):
    """A linear-chain conditional random field over labels.

    The score of the labels `y` of a sequence is
    `starts[y_1] + sum_t logits[t, y_t] + sum_t transitions[y_t, y_t+1] + ends[y_n]`
    and its probability is the softmax over all `y`. The output contains the transition
    scores, so `CRFLoss`, `CRFDecoder` and `EntityF1` need only this output. All
    computations are in float32, regardless of `dtype`.

    Args:
        labels: The names of the labels, in the order of the logits; only needed if
            `constrained`.
        constrained: Whether to forbid transitions that violate the labels' tag
            scheme, such as `O` to `I-PER`, by a very low score. The loss of targets
            that violate it is then about 10,000 per transition; `tagging.to_bio`
            repairs them. First and last labels are not constrained, because a window
            may begin inside an entity.

    Call arguments:
        logits: Floats of shape `(B, S, L)` for L labels.

    Output shape:
        `(B, S + L + 2, L)`: S rows of logits, L rows of transitions [from, to], one row
        of `starts` and one of `ends`; see `split_crf_scores`.

    Raises:
        ValueError: If `constrained` is set without `labels`, or the number of logits
            differs from the number of labels.

    Reference: [Lample et al., 2016](https://arxiv.org/abs/1603.01360), section 2.2.
    """

    def __init__(
        self,
        labels: Sequence[str] | None = None,
        constrained: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{**kwargs, "dtype": "float32"})
        if constrained and labels is None:
            raise ValueError(
                "`labels` must name the labels if `constrained`. Received: None"
            )
        self.labels = None if labels is None else check_labels(labels)
        self.constrained = constrained
        self.penalties: Any = 0.0
        if self.labels is not None and constrained:
            allowed = allowed_transitions(self.labels)
            self.penalties = (~allowed.pairs * FORBIDDEN).astype("float32")

    def build(self, logits_shape):
        size = logits_shape[-1]
        if self.labels is not None and len(self.labels) != size:
            raise ValueError(
                f"`logits` must have a number for each of the {len(self.labels)} "
                f"labels. Received: the shape {tuple(logits_shape)}"
            )
        self.transitions = self._scores("transitions", (size, size))
        self.starts = self._scores("starts", (size,))
        self.ends = self._scores("ends", (size,))

    def _scores(self, name: str, shape: tuple[int, ...]) -> keras.Variable:
        initializer = keras.initializers.RandomUniform(-0.1, 0.1)
        return self.add_weight(shape=shape, initializer=initializer, name=name)

    def call(self, logits):
        pairs = self.transitions + self.penalties
        starts, ends = (ops.convert_to_tensor(x) for x in (self.starts, self.ends))
        rows = ops.concatenate([pairs, starts[None], ends[None]], axis=0)
        batch, _, size = ops.shape(logits)
        rows = ops.broadcast_to(rows, (batch, size + 2, size))
        return ops.concatenate([logits, rows], axis=1)

    def compute_mask(self, logits, previous_mask):
        return None

    def compute_output_shape(self, logits_shape):
        batch, length, size = logits_shape
        return (batch, None if length is None else length + size + 2, size)

    def get_config(self) -> dict[str, Any]:
        labels = None if self.labels is None else list(self.labels)
        config = {"labels": labels, "constrained": self.constrained}
        return {**super().get_config(), **config}


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class CRFDecoder(keras.layers.Layer):
    """Finds the most probable labels with the Viterbi algorithm.

    Call arguments:
        crf_scores: The output of a `CRF` layer, `(B, S + L + 2, L)`.
        word_mask: Booleans of shape `(B, S)`. False positions are skipped, wherever
            they are; transitions connect the true ones.

    Output shape:
        `(B, S)`: indices of labels, 0 where the mask is false.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "dtype": "float32"})

    def call(self, crf_scores, word_mask):
        return viterbi(split_crf_scores(crf_scores), word_mask)[0]

    def compute_mask(self, crf_scores, previous_mask):
        return None

    def compute_output_spec(self, crf_scores, word_mask):
        return keras.KerasTensor(word_mask.shape, "int32")

    def compute_output_shape(self, crf_scores_shape, word_mask_shape):
        return tuple(word_mask_shape)


def split_crf_scores(crf_scores) -> CRFScores:
    """Splits the output of a `CRF` layer, `(B, S + L + 2, L)`, into its parts."""
    size = crf_scores.shape[-1]
    return CRFScores(
        crf_scores[:, : -size - 2],
        crf_scores[:, -size - 2 : -2],
        crf_scores[:, -2],
        crf_scores[:, -1],
    )
