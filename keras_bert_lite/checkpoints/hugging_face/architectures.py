"""The transformers class of a model, and the config.json fields of its head."""

from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face.activations import THEIRS
from keras_bert_lite.checkpoints.hugging_face.head_builders import (
    ACTIVATION_KEY,
    CROSS_ENCODER,
    PROBLEMS,
    RANKER_ACTIVATIONS,
)
from keras_bert_lite.checkpoints.hugging_face.heads import Head
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers import DenseHead, MaskedLMTransform
from keras_bert_lite.tasks.classification import REGRESSION
from keras_bert_lite.tasks.masked_lm import MASKED_LM
from keras_bert_lite.tasks.ranking import RANKING
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.sentence_embedding import SENTENCE_EMBEDDING
from keras_bert_lite.tasks.task import head_layers, labels_of, options_of


def suffix_of(model: keras.Model) -> str:
    """Returns the suffix of the transformers class, such as `ForMaskedLM`.

    Raises:
        ValueError: If transformers has no such class.
    """
    task = task_of(model)
    if task is None:
        _check_encoder(model)
        return "Model"
    if task.hugging_face is None:
        raise ValueError(
            f"`model` must be {task.not_saved}; `model.save` keeps it. "
            f"Received: the task {task.name!r}"
        )
    if task.hugging_face != "Model":
        for name in ("windows", "compare"):
            if name in options_of(model):
                raise ValueError(_other_form(model, name))
    return task.hugging_face


def _other_form(model: keras.Model, option: str) -> str:
    return (
        "`model` must read the first token of one row, as transformers' "
        "classifiers do; `model.save` keeps other forms. "
        f"Received: {option}={options_of(model)[option]!r}"
    )


def _check_encoder(model: keras.Model) -> None:
    outputs = model.output if isinstance(model.output, dict) else {}
    if "sequence_output" not in outputs:
        raise ValueError(
            "`model` must be an encoder or made by a task's builder. "
            f"Received: a model with the outputs {sorted(outputs)}"
        )


def head_fields(model: keras.Model, head: Head) -> dict[str, Any]:
    """Returns the config.json fields of a model's head."""
    found = head_layers(model)
    fields: dict[str, Any] = {}
    last: Any = next((x for x in found.values() if isinstance(x, DenseHead)), None)
    if head.dropout is not None and last is not None:
        fields[head.dropout[0]] = last.dropout_rate
    task = task_of(model)
    for problem, row in PROBLEMS.items():
        if row is task:
            fields["problem_type"] = problem
    if labels := labels_of(model):
        fields |= _names(labels)
    elif task is REGRESSION:
        fields |= _names(last.names or [f"LABEL_{i}" for i in range(last.units)])
    elif task is RANKING:
        fields |= {**_names(["LABEL_0"]), **_cross_encoder(model)}
    if "hidden_dense" in "".join(head.names.values()) and "cls_dropout" in fields:
        fields |= {  # DeBERTa's own fields for its hidden layer
            "pooler_hidden_act": THEIRS[last.hidden_activation],
            "pooler_dropout": last.hidden_dropout_rate or 0.0,
        }
    if "prediction_dense" in found:
        fields["tie_word_embeddings"] = False
    if head.own_form:
        fields |= _form_fields(found)
    for name, pooling in head.poolings.items():
        if pooling == options_of(model).get("pooling"):
            fields["classifier_pooling"] = name
    if options_of(model).get("enhanced"):
        fields["legacy"] = False
    return fields


def _cross_encoder(model: keras.Model) -> dict[str, Any]:
    """Returns what sentence-transformers reads of a cross-encoder."""
    ours = options_of(model).get("activation")
    theirs = next(x for x, name in RANKER_ACTIVATIONS.items() if name == ours)
    return {CROSS_ENCODER: {ACTIVATION_KEY: theirs}}


def _form_fields(found: dict[str, keras.layers.Layer]) -> dict[str, Any]:
    """Returns the fields of the hidden layer, from the layers of the head."""
    fields: dict[str, Any] = {}
    for layer in found.values():
        if isinstance(layer, DenseHead):
            fields["classifier_activation"] = THEIRS[str(layer.hidden_activation)]
            fields["classifier_bias"] = layer.hidden_bias
        if isinstance(layer, MaskedLMTransform):
            fields["classifier_activation"] = THEIRS[layer.activation]
            fields["classifier_bias"] = layer.use_bias
            fields["decoder_bias"] = _output_bias(found)
    return fields


def check_head(model: keras.Model, head: Head, config: EncoderConfig) -> None:
    """Raises ValueError for a head that config.json cannot describe.

    Args:
        model: A model with or without a head.
        head: The architecture's head.
        config: The encoder's configuration.
    """
    pooling = options_of(model).get("pooling")
    sentences = task_of(model) is SENTENCE_EMBEDDING
    if pooling not in (None, *head.poolings.values()) and not sentences:
        raise ValueError(_other_form(model, "pooling"))
    found = head_layers(model)
    lacking = [path for path in head.names.values() if _lacks(found, path)]
    if lacking:
        raise ValueError(
            "`model` must have the layers of transformers' head; `model.save` keeps "
            f"other forms. Received: a head without {lacking}"
        )
    for layer in found.values():
        for name, expected in _expected(layer, head, config).items():
            if getattr(layer, name) != expected:
                raise ValueError(
                    f"The {name} of `model`'s head must be {expected!r}, since "
                    "config.json has no field for it. "
                    f"Received: {getattr(layer, name)!r}"
                )
    if task_of(model) is MASKED_LM and not head.own_form:
        expected = _has_words(head) or config.biases.output
        if _output_bias(found) != expected:
            raise ValueError(
                f"The output_bias of `model`'s head must be {expected}, since "
                f"config.json has no field for it. Received: {not expected}"
            )


def _lacks(found: dict[str, keras.layers.Layer], path: str) -> bool:
    """Returns whether a layer of a head has no sublayer of this path."""
    owner, _, part = path.partition(".")
    return bool(part) and owner in found and getattr(found[owner], part, None) is None


def _has_words(head: Head) -> bool:
    """Returns whether a masked language model's head has a hidden layer."""
    return "prediction_transform.dense" in head.names.values()


def _output_bias(found: dict[str, keras.layers.Layer]) -> bool:
    last: Any = found.get("prediction_dense")
    return "prediction_bias" in found if last is None else last.use_bias


def _expected(
    layer: keras.layers.Layer, head: Head, config: EncoderConfig
) -> dict[str, Any]:
    """Returns the attributes of a head's layer that the architecture determines."""
    if isinstance(layer, MaskedLMTransform):
        epsilon, norm_bias = config.layer_norm_epsilon, config.norms.bias
        expected: dict[str, Any] = {
            "layer_norm_epsilon": epsilon,
            "norm_bias": norm_bias,
        }
        if not head.own_form:
            expected["activation"] = head.activation or config.activation
            expected["use_bias"] = True
        return expected
    if isinstance(layer, DenseHead) and head.form and not head.own_form:
        activation = head.form["hidden_activation"]
        return {"hidden_activation": activation, "hidden_bias": True}
    return {}


def _names(labels: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }
