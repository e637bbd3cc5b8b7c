"""The signatures of an exported string-in model."""

from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.models.text_model import TextModel, answers
from keras_bert_lite.text.answers import LabelAnswer
from keras_bert_lite.text.packing import Preprocessor


def signatures_of(model: TextModel) -> dict[str, Any]:
    """Traces the functions that a server offers.

    Returns:
        Concrete functions by name: `serving_default` and `tokenize` take
        strings, `token_ids` takes ids, and `classify`, for a classifier,
        serialized `tf.Example`s. Outputs have the batch first; numbers that
        are not whole are float32.
    """
    texts = {name: tf.TensorSpec([None], tf.string, name) for name in model.input}
    body = model_on_ids(model)
    ids = {
        name: tf.TensorSpec([None, None], x.dtype, name)
        for name, x in body.input.items()
    }
    preprocessor = preprocessor_of(model)

    def from_ids(**inputs):
        return _as_float32(answers(body, body(inputs, training=False)))

    # Traced once, called by the others: their graphs are stored once.
    tokenize = _traced(lambda **inputs: preprocessor(inputs), **texts)
    answer = _traced(from_ids, **ids)
    functions = {
        "serving_default": _traced(lambda **x: answer(**tokenize(**x)), **texts),
        "token_ids": answer,
        "tokenize": tokenize,
    }
    if labels := labels_of(model):
        functions["classify"] = _classify(functions["serving_default"], labels, texts)
    return functions


def _classify(answer: Any, labels: list[str], texts: dict[str, tf.TensorSpec]) -> Any:
    """The inputs and outputs of TF Serving's Classify API."""
    features = {name: tf.io.FixedLenFeature([], tf.string) for name in texts}

    def classify(inputs):
        scores = answer(**tf.io.parse_example(inputs, features))["scores"]
        classes = tf.broadcast_to(tf.constant(labels), tf.shape(scores))
        return {"classes": classes, "scores": scores}

    return _traced(classify, inputs=tf.TensorSpec([None], tf.string, "inputs"))


def _traced(function: Any, **specs: tf.TensorSpec) -> Any:
    return tf.function(function).get_concrete_function(**specs)


def preprocessor_of(model: TextModel) -> Preprocessor:
    """Returns the layer that turns a model's strings into ids."""
    return next(layer for layer in model.layers if isinstance(layer, Preprocessor))


def model_on_ids(model: TextModel) -> keras.Model:
    """Returns what stands between the preprocessor and the answers."""
    return next(layer for layer in model.layers if isinstance(layer, keras.Model))


def labels_of(model: TextModel) -> list[str]:
    """Returns the labels of a classifier, none for another model."""
    for layer in model.layers:
        if isinstance(layer, LabelAnswer):
            return layer.labels
    return []


def _as_float32(outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    return {
        name: tf.cast(x, tf.float32) if x.dtype.is_floating else x
        for name, x in _flat(outputs).items()
    }


def _flat(outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Numbers the elements of lists: `hidden_states_0` and so on."""
    flat = {}
    for name, value in outputs.items():
        if isinstance(value, (list, tuple)):
            flat.update({f"{name}_{i}": x for i, x in enumerate(value)})
        else:
            flat[name] = value
    return flat
