"""Which architecture a model is, and what config.json says of its head."""

from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.checkpoints.hugging_face.activations import THEIRS
from keras_bert_lite.checkpoints.hugging_face.head_builders import (
    MULTI_LABEL,
    REGRESSION,
)
from keras_bert_lite.checkpoints.hugging_face.heads import ENHANCED, Head


def suffix_of(model: keras.Model) -> str:
    """Returns the suffix of the class in transformers, such as `ForMaskedLM`.

    Raises:
        ValueError: If the model is none that the builders make.
    """
    outputs = model.output
    names = set(outputs) if isinstance(outputs, dict) else set()
    layer_types = {type(layer) for layer in model.layers}
    if "sequence_output" in names or names == {"sentence_embedding"}:
        return "Model"
    if names == {"prediction_logits", "seq_relationship_logits"}:
        return "ForPreTraining"
    if names == {"prediction_logits"}:
        enhanced = any(layer.name == "enhanced_transform" for layer in model.layers)
        return ENHANCED if enhanced else "ForMaskedLM"
    if names == {"seq_relationship_logits"}:
        return "ForNextSentencePrediction"
    if names == {"start_logits", "end_logits"}:
        return "ForQuestionAnswering"
    _check_plain_head(model, names)
    if names != {"logits"}:
        raise ValueError(
            "`model` must be an encoder or made by a task's builder. "
            f"Received: a model with the outputs {sorted(names)}"
        )
    if layers.ReplacedTokenHead in layer_types:
        return "ForPreTraining"
    if layers.JoinChoices in layer_types:
        return "ForMultipleChoice"
    if len(outputs["logits"].shape) == 3:
        return "ForTokenClassification"
    return "ForSequenceClassification"


def _check_plain_head(model: keras.Model, names: set[str]) -> None:
    """Refuses what transformers' classes have no place for."""
    if names == {"crf_scores"}:
        raise ValueError(
            "`model` must be without a conditional random field, which transformers "
            "does not have; `model.save` keeps it. Received: `crf=True`"
        )
    for name in ("pooling", "window_pooling"):
        if any(layer.name == name for layer in model.layers):
            raise ValueError(
                "`model` must read the first token of one row, as transformers' "
                f"classifiers do; `model.save` keeps other forms. Received: {name!r}"
            )


def head_fields(model: keras.Model, head: Head) -> dict[str, Any]:
    """Returns what config.json says of a model's head."""
    found: dict[str, Any] = {layer.name: layer for layer in model.layers}
    fields: dict[str, Any] = {}
    last: Any = found.get("head", found.get("pair_head"))
    if head.dropout is not None and last is not None:
        fields[head.dropout[0]] = last.dropout_rate
    if isinstance(last, layers.ClassificationHead):
        fields |= _labels(last)
    elif isinstance(last, layers.RegressionHead):
        names = last.names or [f"LABEL_{i}" for i in range(last.units)]
        fields |= {"problem_type": REGRESSION, **_names(names)}
    if "hidden_dense" in "".join(head.names.values()) and "cls_dropout" in fields:
        fields |= {  # DeBERTa's own fields for its hidden layer
            "pooler_hidden_act": THEIRS[last.hidden_activation],
            "pooler_dropout": last.hidden_dropout_rate or 0.0,
        }
    if "prediction_dense" in found:
        fields["tie_word_embeddings"] = False
    if "enhanced_transform" in found:
        fields["legacy"] = False
    return fields


def check_prediction(model: keras.Model, activation: str, epsilon: float) -> None:
    """Refuses a head that predicts words in a way the layout has no field for.

    Args:
        model: A model, with such a head or without.
        activation, epsilon: What the architecture's head computes with.
    """
    for layer in model.layers:
        if not isinstance(layer, layers.MaskedLMTransform):
            continue
        for name, expected in {
            "activation": activation,
            "layer_norm_epsilon": epsilon,
        }.items():
            if getattr(layer, name) != expected:
                raise ValueError(
                    f"The head of `model` must have the {name} {expected!r}, which "
                    "the layout has no field for. "
                    f"Received: {getattr(layer, name)!r}"
                )


def _labels(head: layers.ClassificationHead) -> dict[str, Any]:
    kind = MULTI_LABEL if head.multi_label else "single_label_classification"
    return {"problem_type": kind, **_names(head.labels)}


def _names(labels: list[str]) -> dict[str, Any]:
    return {
        "id2label": {str(i): label for i, label in enumerate(labels)},
        "label2id": {label: i for i, label in enumerate(labels)},
    }
