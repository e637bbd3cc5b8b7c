"""Converting the heads of KerasHub models, without their weights."""

from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder_model import (
    connect_with_table,
    encoder_layers,
    id_inputs,
)
from keras_bert_lite.tasks.classification import regressor, text_classifier
from keras_bert_lite.tasks.masked_lm import MASKED_LM, PREDICTION, word_scores
from keras_bert_lite.tasks.task import task_model

NAMES = ("gelu", "relu", "silu", "tanh")


def activation_of(function: Callable) -> str:
    """Returns our name of the activation function of a KerasHub layer.

    Raises:
        ValueError: If this package does not support the function.
    """
    if keras.saving.get_registered_name(function) == "keras_hub>gelu_approximate":
        return "gelu_tanh"
    for name in NAMES:
        if function is keras.activations.get(name):
            return name
    raise ValueError(
        f"`activation` must be one of {(*NAMES, 'gelu_approximate')}. "
        f"Received: {function!r}"
    )


def one_of(name: str, values: Sequence[Any]) -> Any:
    """Returns the common value of all layers of a backbone.

    Raises:
        ValueError: If the values differ.
    """
    first, *others = dict.fromkeys(values)
    if others:
        raise ValueError(
            f"`{name}` must be the same in all layers. Received: {[first, *others]}"
        )
    return first


def classifier(
    body: keras.Model, task: Any, labels: Sequence[str] | None
) -> keras.Model:
    """Builds the classifier or regressor that is equivalent to a `TextClassifier`."""
    if task.activation is not keras.activations.linear:
        raise ValueError(
            "`activation` of a TextClassifier must be None: models here return "
            f"logits. Received: {task.activation!r}"
        )
    count = task.output_dense.units
    form, dropout = {}, task.output_dropout.rate
    if hasattr(task, "pooled_dense"):
        form = _hidden_layer(task)
    if count == 1 and labels is None:
        return regressor(body, dropout=dropout, head_form=form)
    names = [f"LABEL_{i}" for i in range(count)] if labels is None else list(labels)
    if len(names) != count:
        raise ValueError(
            f"`labels` must be {count} names, one for each class. Received: {names}"
        )
    return text_classifier(body, names, dropout=dropout, head_form=form)


def _hidden_layer(task: Any) -> dict[str, Any]:
    dense, width = task.pooled_dense, task.backbone.hidden_dim
    if dense.units != width:
        raise ValueError(
            "`hidden_dim` of a TextClassifier must be its backbone's, "
            f"{width}. Received: {dense.units}"
        )
    before = getattr(task, "pooled_dropout", None)  # DistilBERT has none
    return {
        "hidden_activation": activation_of(dense.activation),
        "hidden_dropout": before.rate if before is not None else 0.0,
    }


def masked_lm(body: keras.Model, task: Any) -> keras.Model:
    """Builds the equivalent of a `MaskedLM`, with scores at all positions.

    KerasHub's head has its own activation and epsilon.
    """
    head = task.masked_lm_head
    if head.activation is not None and head.activation is not keras.activations.linear:
        raise ValueError(
            "`activation` of a MaskedLM's head must be None: models here return "
            f"logits. Received: {head.activation!r}"
        )
    embeddings, blocks, _ = encoder_layers(body)
    transform = layers.MaskedLMTransform(
        embeddings.width,
        activation=activation_of(head.intermediate_activation),
        layer_norm_epsilon=head.layer_norm_epsilon,
        initializer_range=embeddings.initializer_range,
        name="prediction_transform",
    )
    inputs = id_inputs()
    states, table = connect_with_table(inputs, embeddings, blocks, None)
    words = (transform, layers.VocabularyBias(name="prediction_bias"))
    logits = word_scores(table, *words, states["sequence_output"])
    outputs = {PREDICTION.name: logits}
    return task_model(MASKED_LM, inputs, outputs, words, "masked_lm")
