"""Objectives: the loss of an output, and what follows from it.

A task's row names the objective and the metrics of each output (`tasks/task.py`).
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras

from keras_bert_lite.tagging import has_scheme
from keras_bert_lite.training import linear_model, probabilities
from keras_bert_lite.training.linear_model import Link
from keras_bert_lite.training.losses import CRFLoss, LambdaLoss, ReplacedTokenLoss
from keras_bert_lite.training.losses.word_cross_entropy import WordCrossEntropy
from keras_bert_lite.training.metrics import (
    EntityF1,
    MultiLabelF1,
    PearsonCorrelation,
    Perplexity,
    ReplacedTokenAccuracy,
    ReplacedTokenRecall,
    WordAccuracy,
)
from keras_bert_lite.training.metrics.vocabulary_accuracy import VocabularyAccuracy
from keras_bert_lite.training.probabilities import Probabilities


@dataclasses.dataclass(frozen=True, eq=False)
class Objective:
    """How the scores of an output are trained.

    Args:
        loss: Makes the loss that `kbl.compile` uses.
        fitting: Names of Keras's losses that fit the scores too.
        link: How a linear model of vectors predicts the same targets, so that a head
            may start from it; `None`: none does.
        probabilities: How the scores become probabilities, which can be calibrated;
            `None`: they do not.
    """

    loss: Callable[[], keras.losses.Loss]
    fitting: tuple[str, ...]
    link: Link | None = None
    probabilities: Probabilities | None = None


def _sparse_cross_entropy() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


CROSS_ENTROPY = Objective(
    loss=_sparse_cross_entropy,
    fitting=(
        "sparse_categorical_crossentropy",
        "categorical_crossentropy",
        "categorical_focal_crossentropy",
    ),
    link=linear_model.SOFTMAX,
    probabilities=probabilities.SOFTMAX,
)
CHOICE_CROSS_ENTROPY = dataclasses.replace(CROSS_ENTROPY, link=linear_model.CHOICES)
WORD_CROSS_ENTROPY = dataclasses.replace(CROSS_ENTROPY, loss=WordCrossEntropy)
# A token among those of its text: no linear model of a vector predicts it, and its
# probability is one among the tokens of that text.
POSITION_CROSS_ENTROPY = dataclasses.replace(
    CROSS_ENTROPY, link=None, probabilities=None
)
BINARY_CROSS_ENTROPY = Objective(
    loss=lambda: keras.losses.BinaryCrossentropy(from_logits=True),
    fitting=("binary_crossentropy", "binary_focal_crossentropy"),
    link=linear_model.SIGMOID,
    probabilities=probabilities.SIGMOID,
)
SQUARED_ERROR = Objective(
    loss=keras.losses.MeanSquaredError,
    fitting=(
        "mean_squared_error",
        "mean_absolute_error",
        "mean_absolute_percentage_error",
        "mean_squared_logarithmic_error",
        "huber",
        "log_cosh",
    ),
    link=linear_model.LEAST_SQUARES,
)
CRF_LIKELIHOOD = Objective(CRFLoss, ("crf_loss",), link=linear_model.SOFTMAX)
LAMBDA = Objective(LambdaLoss, ("lambda_loss",))
REPLACED_TOKENS = Objective(ReplacedTokenLoss, ("replaced_token_loss",))
# Keras's losses that are refused unless an objective names them. Other losses are
# assumed to be the user's own.
KNOWN = {
    "kl_divergence",
    "poisson",
    *(
        name
        for objective in (
            CROSS_ENTROPY,
            BINARY_CROSS_ENTROPY,
            SQUARED_ERROR,
            CRF_LIKELIHOOD,
            REPLACED_TOKENS,
        )
        for name in objective.fitting
    ),
}

# Metrics by the head of an output.
MetricOf = Callable[[Any], keras.metrics.Metric]


def accuracy(_: Any) -> keras.metrics.Metric:
    return keras.metrics.SparseCategoricalAccuracy(name="accuracy")


def vocabulary_accuracy(_: Any) -> keras.metrics.Metric:
    return VocabularyAccuracy()


def perplexity(_: Any) -> keras.metrics.Metric:
    return Perplexity()


def multi_label_f1(head: Any) -> keras.metrics.Metric:
    return MultiLabelF1(len(head.labels))


def tag_scores(head: Any) -> keras.metrics.Metric:
    """Returns an entity metric if the labels have a scheme, else word accuracy."""
    return EntityF1(head.labels) if has_scheme(head.labels) else WordAccuracy()


def number_scores(head: Any) -> keras.metrics.Metric:
    """Returns a correlation for one number, else the mean absolute error."""
    if head.units == 1:
        return PearsonCorrelation()
    return keras.metrics.MeanAbsoluteError()


def replaced_token_accuracy(_: Any) -> keras.metrics.Metric:
    return ReplacedTokenAccuracy()


def replaced_token_recall(_: Any) -> keras.metrics.Metric:
    return ReplacedTokenRecall()
