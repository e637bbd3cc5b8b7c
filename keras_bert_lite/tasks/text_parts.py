"""The parts of a model that takes strings, and its answers to many texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert_lite._finite import NotFinite, is_finite
from keras_bert_lite.tasks.string_form import Answer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.window_layer import TextWindows


def preprocessor_of(model: keras.Model) -> Preprocessor:
    """Returns the layer that turns a model's strings into ids."""
    for layer in model.layers:
        if isinstance(layer, Preprocessor):
            return layer
        if isinstance(layer, TextWindows):
            return layer.preprocessor
    raise ValueError(f"`model` has no preprocessor. Received: {model!r}")


def answer_of(model: keras.Model) -> Any:
    """Returns the layer that makes a model's answers, or `None`."""
    return next((x for x in model.layers if isinstance(x, Answer)), None)


def absent_in(model: keras.Model) -> dict[str, float]:
    """Returns what pads a model's answers where it is not 0, by the answer's name."""
    answer = answer_of(model)
    return {} if answer is None else dict(answer.absent)


def answers_to(
    model: Any,
    texts: Mapping[str, Sequence[Any]],
    lengths: Sequence[int],
    batch_size: int,
    argument: str = "model",
) -> dict[str, np.ndarray]:
    """Returns a model's answers to texts, which it reads in order of their lengths.

    Args:
        model: The model.
        texts: N texts for each of its inputs.
        lengths: Of the N rows.
        batch_size: Rows that are read at once.
        argument: The model's name in error messages.

    Raises:
        NotFinite: If an answer is NaN or infinite.
    """
    order = np.argsort(lengths, kind="stable")
    inputs = {name: [values[i] for i in order] for name, values in texts.items()}
    answers = model.predict(inputs, batch_size, verbose=0)
    absent = absent_in(model)
    for name, value in answers.items():
        if not is_finite(value, absent.get(name)):
            rule = f"`{argument}` must answer with finite numbers"
            raise NotFinite(rule, f"NaN or infinity in the answers' {name!r}")
    back = np.argsort(order)
    return {name: np.asarray(value)[back] for name, value in answers.items()}
