"""Probabilities that mean what they say: a temperature, folded into the head."""

import dataclasses
import math
from collections.abc import Iterable

import keras
import numpy as np

from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.layers import DenseHead
from keras_bert_lite.reliability import reliability
from keras_bert_lite.tasks.outputs import Predictor, batches, scores_of
from keras_bert_lite.tasks.registry import objectives_of
from keras_bert_lite.tasks.task import head_layers, marked_model
from keras_bert_lite.training.probabilities import Probabilities

BOUNDS = (math.log(0.05), math.log(20.0))  # of the temperature


@dataclasses.dataclass(frozen=True)
class Calibration:
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
    model: keras.Model, data: Iterable, output: str, form: Probabilities
) -> Calibration | None:
    logits, targets = _read(model, data, output)
    if len(logits) < RECIPE.calibrated_from:
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


def _forms(model: keras.Model) -> dict[str, Probabilities]:
    """Returns the probabilities of each output that has some, by name."""
    objectives = objectives_of(model)
    return {
        output: objective.probabilities
        for output in marked_model(model)[1]
        if (objective := objectives.get(output)) and objective.probabilities
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
