"""The transformers class of a model, and the config.json fields of its head."""

from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face.activations import THEIRS
from keras_bert_lite.checkpoints.hugging_face.head_builders import PROBLEMS
from keras_bert_lite.checkpoints.hugging_face.heads import Head
from keras_bert_lite.layers import DenseHead, MaskedLMTransform
from keras_bert_lite.models.tasks.classification import REGRESSION
from keras_bert_lite.models.tasks.registry import task_of
from keras_bert_lite.models.tasks.task import head_layers, labels_of, options_of


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
        for name in ("pooling", "windows", "compare"):
            if name in options_of(model):
                raise ValueError(
                    "`model` must read the first token of one row, as transformers' "
                    "classifiers do; `model.save` keeps other forms. "
                    f"Received: {name}={options_of(model)[name]!r}"
                )
    return task.hugging_face


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
    if "hidden_dense" in "".join(head.names.values()) and "cls_dropout" in fields:
        fields |= {  # DeBERTa's own fields for its hidden layer
            "pooler_hidden_act": THEIRS[last.hidden_activation],
            "pooler_dropout": last.hidden_dropout_rate or 0.0,
        }
    if "prediction_dense" in found:
        fields["tie_word_embeddings"] = False
    if options_of(model).get("enhanced"):
        fields["legacy"] = False
    return fields


def check_prediction(model: keras.Model, activation: str, epsilon: float) -> None:
    """Raises ValueError for a masked LM head that config.json cannot describe.

    Args:
        model: A model with or without such a head.
        activation, epsilon: The fixed values of the architecture's head.
    """
    for layer in head_layers(model).values():
        if not isinstance(layer, MaskedLMTransform):
            continue
        for name, expected in {
            "activation": activation,
            "layer_norm_epsilon": epsilon,
        }.items():
            if getattr(layer, name) != expected:
                raise ValueError(
                    f"The {name} of `model`'s head must be {expected!r}, since "
                    "config.json has no field for it. "
                    f"Received: {getattr(layer, name)!r}"
                )


def _names(labels: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }
