"""The graph of a model on ids, and a SavedModel of it for converters."""

from __future__ import annotations

import os
from typing import Any

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.tasks.text_model import TextModel


def id_specs(
    body: keras.Model, batch: int | None = None, length: int | None = None
) -> dict[str, tf.TensorSpec]:
    """Returns what a model on ids takes, by name, `(batch, length)` each."""
    return {
        name: tf.TensorSpec([batch, length], x.dtype, name)
        for name, x in body.input.items()
    }


def traced(body: keras.Model, specs: dict[str, tf.TensorSpec]) -> Any:
    """Returns a model on ids as a concrete function."""
    return tf.function(
        lambda **inputs: body(inputs, training=False), autograph=False
    ).get_concrete_function(**specs)


def save_functions(
    model: TextModel, functions: dict[str, Any], folder: str | os.PathLike
) -> None:
    """Writes traced functions as the signatures of a SavedModel."""
    module = tf.Module()
    module.weights = [variable.value for variable in model.variables]
    tf.saved_model.save(module, os.fspath(folder), signatures=functions)
