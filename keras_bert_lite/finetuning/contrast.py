"""Few labelled texts, of which those with the same label are drawn together."""

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.models.encoder_model import encoder_of
from keras_bert_lite.tasks.sentence_embedding import EMBEDDING, sentence_encoder
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.sequences import text_dataset
from keras_bert_lite.training.divergence import StopAtDivergence
from keras_bert_lite.training.optimizers import (
    OptimizerStart,
    bert_adamw,
    build_optimizer,
)


class Contrast:
    """Trains a classifier's encoder on pairs of texts: are their labels the same?

    The cosine of two texts' vectors is to be 1 for the same label and 0 otherwise. All
    pairs of a step's texts are compared, so that a text is encoded once for several.

    Args:
        model: A model on ids, made by `text_classifier`. Its encoder is trained.
        preprocessor: Makes its inputs.
        learning_rate: The peak rate.
        steps: Updates of each training.

    Reference: [Tunstall et al., 2022](https://arxiv.org/abs/2209.11055), section 3,
    where each pair is encoded by itself.
    """

    def __init__(
        self,
        model: keras.Model,
        preprocessor: Preprocessor,
        learning_rate: float,
        steps: int = RECIPE.contrast_steps,
    ) -> None:
        self._preprocessor, self._steps = preprocessor, steps
        self._encoder = sentence_encoder(encoder_of(model), pooling="mean")
        losses = {EMBEDDING: SameLabelLoss()}
        self._encoder.compile(bert_adamw(steps, learning_rate), losses)
        build_optimizer(self._encoder)
        self._start = OptimizerStart(self._encoder.optimizer)

    def __call__(self, texts: Sequence[str], labels: Sequence[str], seed: int) -> None:
        """Trains on rows, whose order depends on `seed`.

        Raises:
            Diverged: If the loss is not finite.
        """
        self._start.restore()
        batches = in_turn(labels, self._steps, seed)
        rows = [{"text": texts[i], "label": labels[i]} for i in batches.ravel()]
        data = text_dataset(
            rows,
            self._preprocessor,
            labels=sorted({*labels}),
            batch_size=batches.shape[1],
        )
        self._encoder.fit(
            data, shuffle=False, verbose=0, callbacks=[StopAtDivergence()]
        )


class SameLabelLoss(keras.losses.Loss):
    """`(cos(a, b) - s)^2` for all pairs of a batch, s = 1 for the same label, else 0.

    The two kinds of pairs count the same, however many there are of each.

    Call arguments:
        y_true: Indices of labels, `(B,)` or `(B, 1)`.
        y_pred: Vectors of length 1, `(B, H)`.
    """

    def __init__(self, name: str = "same_label_loss") -> None:
        super().__init__(name=name, reduction=None, dtype="float32")

    def call(self, y_true, y_pred):
        labels = ops.reshape(y_true, (-1,))
        cosines = ops.matmul(y_pred, ops.transpose(y_pred))
        same = ops.cast(labels[:, None] == labels[None], "float32")
        others = 1 - same
        same -= ops.eye(ops.shape(labels)[0])
        errors = (same * ops.square(1 - cosines), others * ops.square(cosines))
        means = [
            ops.sum(x) / ops.maximum(ops.sum(n), 1)
            for x, n in zip(errors, (same, others), strict=True)
        ]
        return (means[0] + means[1]) / 2


def in_turn(labels: Sequence[str], steps: int, seed: int) -> np.ndarray:
    """Returns the rows of each step, `(steps, B)`: several of each of some labels.

    Labels take turns, and so do the rows of a label.
    """
    rng = np.random.default_rng(seed)
    by_label = np.array(labels)
    rows = [np.flatnonzero(by_label == x) for x in sorted({*labels})]
    count = min(len(rows), RECIPE.contrast_texts // 2)
    turns = _shuffled(np.arange(len(rows)), steps * count, rng)
    each = RECIPE.contrast_texts // count
    found = np.empty((len(turns), each), int)
    for label, of_label in enumerate(rows):
        places = turns == label
        order = _shuffled(of_label, places.sum() * each, rng)
        found[places] = order.reshape(-1, each)
    return found.reshape(steps, -1)


def _shuffled(x: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Returns `count` of x: all, and again all, each time in another order."""
    rounds = [rng.permutation(x) for _ in range(-(-count // len(x)))]
    return np.concatenate([x[:0], *rounds])[:count]
