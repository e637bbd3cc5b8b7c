"""Probabilities that mean what they say: a temperature, folded into the head."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert_lite.layers import DenseHead
from keras_bert_lite.models.tasks.registry import losses_of
from keras_bert_lite.models.tasks.task import head_layers, marked_model
from keras_bert_lite.reliability import reliability
from keras_bert_lite.training.evaluation.outputs import Predictor, batches, scores_of

FEWEST = 50  # targets below which nothing is fitted
BOUNDS = (math.log(0.05), math.log(20.0))  # of the temperature


class Calibration(NamedTuple):
    """How an output was calibrated.

    Args:
        temperature: The logits were divided by it.
        before, after: The expected calibration error, before and after.
    """

    temperature: float
    before: float
    after: float


def calibrate(model: keras.Model, data: Iterable) -> dict[str, Calibration]:
    """Divides a model's logits by the temperature that fits its probabilities best.

    The temperature minimizes the loss on N held-out targets, which are smoothed by
    1 / (N + 2): where all answers are right, no confidence would be too high. It is
    folded into the weights of the head's last layer, so that every export has it. The
    most probable label stays the same.

    Args:
        model: A model made by a task's builder. Its head is changed in place.
        data: Held-out batches of inputs and targets.

    Returns:
        The `Calibration` of each output, by name, of those that have a softmax or a
        sigmoid and at least 50 targets.

    Reference: [Guo et al., 2017](https://arxiv.org/abs/1706.04599); the smoothing is
    that of Platt, 1999, "Probabilistic outputs for support vector machines".
    """
    outputs = _forms(model)
    return {
        output: found
        for output, form in outputs.items()
        if (found := _calibrate(model, data, output, form)) is not None
    }


def _calibrate(
    model: keras.Model, data: Iterable, output: str, form: "Form"
) -> Calibration | None:
    logits, targets = _read(model, data, output)
    if len(logits) < FEWEST:
        return None
    from scipy.optimize import minimize_scalar  # slow to import

    def loss(log: float) -> float:
        return form.loss(logits / math.exp(log), targets)

    temperature = math.exp(minimize_scalar(loss, bounds=BOUNDS).x)
    errors = (
        reliability(*form.confidences(x, targets)).error
        for x in (logits, logits / temperature)
    )
    fold(model, output, temperature)
    return Calibration(temperature, *errors)


def soften(model: keras.Model, temperature: float) -> None:
    """Divides the logits of all outputs that have a softmax or a sigmoid."""
    for output in _forms(model):
        fold(model, output, temperature)


def _forms(model: keras.Model) -> dict[str, "Form"]:
    """Returns the form of each output that has a softmax or a sigmoid, by name."""
    losses = losses_of(model)
    return {
        x: FORMS[loss]
        for x in marked_model(model)[1]
        if (loss := losses.get(x)) in FORMS
    }


def fold(model: keras.Model, output: str, temperature: float) -> None:
    """Divides the logits of an output by a temperature, in the head's weights."""
    for layer in head_layers(model, output).values():
        if isinstance(layer, DenseHead):
            for weight in (layer.dense.kernel, layer.dense.bias):
                weight.assign(weight / temperature)


def _read(
    model: keras.Model, data: Iterable, output: str
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the logits `(N, L)` and the targets of all rows, or words."""
    logits, targets = [], []
    predict = Predictor(model).of(data)
    for inputs, target, weights in batches(data, output):
        scores = scores_of(model, inputs, output, predict)
        rows = scores.reshape(-1, scores.shape[-1])
        kept = np.ones(len(rows), bool) if weights is None else weights.ravel() > 0
        logits.append(rows[kept].astype("float64"))
        targets.append(target.reshape(len(rows), -1)[kept])
    return np.concatenate(logits), np.concatenate(targets)


class Form(NamedTuple):
    """How logits `(N, L)` become probabilities.

    Args:
        loss: The mean loss of logits, given targets `(N, 1)` or `(N, L)`, smoothed.
        confidences: The probabilities that were given, and whether they were right.
    """

    loss: Callable[[np.ndarray, np.ndarray], float]
    confidences: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _smoothing(targets: np.ndarray) -> float:
    """Returns the share of a target that other labels get."""
    return 1 / (len(targets) + 2)


def _cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    from scipy.special import log_softmax  # slow to import

    logs, share = log_softmax(logits, axis=1), _smoothing(targets)
    right = np.take_along_axis(logs, targets.astype(int), 1).mean()
    return float(-(1 - share) * right - share * logs.mean())


def _of_best(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import softmax  # slow to import

    return softmax(logits, axis=1).max(1), logits.argmax(1) == targets[:, 0]


def _binary_cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    share = _smoothing(targets)
    targets = share + (1 - 2 * share) * targets
    return float((np.logaddexp(0, logits) - targets * logits).mean())


def _of_all(logits: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.special import expit  # slow to import

    probabilities = expit(logits)
    sure = np.maximum(probabilities, 1 - probabilities)
    return sure.ravel(), ((probabilities > 0.5) == (targets > 0.5)).ravel()


SOFTMAX = Form(_cross_entropy, _of_best)
FORMS: dict[Any, Form] = {  # by the name of the task's loss
    "cross_entropy": SOFTMAX,
    "choice_cross_entropy": SOFTMAX,
    "word_cross_entropy": SOFTMAX,
    "binary_cross_entropy": Form(_binary_cross_entropy, _of_all),
}
