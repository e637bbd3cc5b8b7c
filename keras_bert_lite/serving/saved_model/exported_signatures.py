"""The signatures of an exported model."""

from __future__ import annotations

from typing import Any

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.task import labels_of
from keras_bert_lite.tasks.text_model import TextModel, ids_of, model_on_ids
from keras_bert_lite.tasks.text_parts import answer_of
from keras_bert_lite.text.window_layer import TextWindows


def signatures_of(model: TextModel) -> dict[str, Any]:
    """Traces the functions to serve.

    Returns:
        Concrete functions by name: `serving_default` and `tokenize` take
        strings, `token_ids` takes ids, and `classify`, for a classifier, takes
        serialized `tf.Example`s. A model that splits texts into windows has no
        `tokenize`, because there may be more windows than texts. Outputs have
        the batch first; floating-point values are float32.
    """
    texts = {
        name: tf.TensorSpec([None] * len(x.shape), tf.string, name)
        for name, x in model.input.items()
    }
    body = model_on_ids(model)
    ids = {
        name: tf.TensorSpec([None] * len(x.shape), x.dtype, name)
        for name, x in body.input.items()
    }
    answer = answer_of(model)
    on_logits = answers_ids(model)

    def from_ids(**inputs):
        values = body(inputs, training=False)
        return _as_float32(answer(values["logits"]) if on_logits else values)

    functions = {"token_ids": traced(from_ids, **ids)}
    if not takes_windows(model):
        functions["tokenize"] = traced(lambda **x: ids_of(model, x), **texts)
    if answer is None or on_logits:
        # Reuse the traced functions, so that their graphs are stored once.
        tokenize, values = functions["tokenize"], functions["token_ids"]
        serve = traced(lambda **x: values(**tokenize(**x)), **texts)
    else:
        serve = traced(lambda **x: _as_float32(model(x, training=False)), **texts)
    functions["serving_default"] = serve
    if labels := text_labels(model):
        functions["classify"] = _classify(serve, labels, texts)
    return functions


def _classify(answer: Any, labels: list[str], texts: dict[str, tf.TensorSpec]) -> Any:
    """Traces a function for TF Serving's Classify API."""
    features = {name: tf.io.FixedLenFeature([], tf.string) for name in texts}

    def classify(inputs):
        scores = answer(**tf.io.parse_example(inputs, features))["scores"]
        classes = tf.broadcast_to(tf.constant(labels), tf.shape(scores))
        return {"classes": classes, "scores": scores}

    return traced(classify, inputs=tf.TensorSpec([None], tf.string, "inputs"))


def traced(function: Any, **specs: tf.TensorSpec) -> Any:
    return tf.function(function, autograph=False).get_concrete_function(**specs)


def takes_windows(model: TextModel) -> bool:
    """Returns whether a model splits its texts into windows."""
    return any(isinstance(layer, TextWindows) for layer in model.layers)


def answers_ids(model: TextModel) -> bool:
    """Returns whether the answers need only the `logits` of the model on ids."""
    task = task_of(model)
    return task is not None and task.answers_ids


def text_labels(model: TextModel) -> list[str]:
    """Returns the labels of a text classifier, none for other models."""
    task = task_of(model)
    return (labels_of(model) or []) if task and task.classifies else []


def _as_float32(outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    return {
        name: tf.cast(x, tf.float32) if x.dtype.is_floating else x
        for name, x in _flat(outputs).items()
    }


def _flat(outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Flattens lists, numbering their elements: `hidden_states_0` and so on."""
    flat = {}
    for name, value in outputs.items():
        if isinstance(value, (list, tuple)):
            flat.update({f"{name}_{i}": x for i, x in enumerate(value)})
        else:
            flat[name] = value
    return flat
