"""Converting models from and to KerasHub (formerly keras-nlp)."""

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import keras

from keras_bert_lite.checkpoints.core.name_table import model_parts
from keras_bert_lite.checkpoints.core.tensors import Filled, fill
from keras_bert_lite.checkpoints.keras_hub import heads
from keras_bert_lite.checkpoints.keras_hub.config import read_config, write_config
from keras_bert_lite.checkpoints.keras_hub.families import (
    HUB_FAMILIES,
    HubFamily,
    row_of,
)
from keras_bert_lite.checkpoints.keras_hub.names import (
    MASKED_LM_HEAD,
    VariableSource,
    hub_targets,
    our_targets,
)
from keras_bert_lite.checkpoints.keras_hub.preset_loading import TASKS, load_preset
from keras_bert_lite.models.encoder_model import config_of, encoder, encoder_of


def from_keras_hub(model: Any, labels: Sequence[str] | None = None) -> keras.Model:
    """Converts a KerasHub model, with its weights, into an equivalent model.

    Args:
        model: A `Backbone`, `TextClassifier` or `MaskedLM` of BERT, RoBERTa,
            XLM-RoBERTa, DistilBERT, ALBERT, ELECTRA or DeBERTa-v3; or the name
            or directory of a preset, whose backbone is converted. The
            preprocessor is ignored.
        labels: The class names of a classifier; by default `LABEL_0`, ...

    Returns:
        An `encoder`, with `pooled_output` if the backbone has one; a
        `text_classifier` (a `regressor` if there is one class and no label);
        or a `masked_lm` that scores all positions. It holds copies of the
        weights, in Keras's global dtype policy.

    Warns:
        UserWarning: If weights have NaN or infinite values.

    Raises:
        ValueError: If the class of the model or one of its options is not
            supported, or the preset cannot be loaded.

    Example:

    >>> encoder = from_keras_hub("bert_tiny_en_uncased")  # doctest: +SKIP
    """
    if isinstance(model, (str, os.PathLike)):
        model = load_preset(model)
    family, task = _family_and_task(model)
    row = HUB_FAMILIES[family]
    backbone = model.backbone if task else model
    if labels is not None and task != "TextClassifier":
        raise ValueError(
            f"`labels` are for a TextClassifier. Received: {labels!r} and "
            f"{type(model).__name__}"
        )
    config = read_config(family, backbone.get_config(), **_functions(backbone))
    if task == "MaskedLM":
        config = config.replace(pooling=None)
    result, table = encoder(config), dict(row.names)
    if task == "TextClassifier":
        result = heads.classifier(result, model, labels)
        table |= row.head
    elif task == "MaskedLM":
        result = heads.masked_lm(result, model)
        table |= MASKED_LM_HEAD
    source = VariableSource(f"KerasHub's {model.name!r}", hub_targets(model))
    pooler_unused = task == "MaskedLM"
    filled = fill(
        source,
        our_targets(table, result),
        is_optional=lambda name: pooler_unused and name.startswith("pooled_dense/"),
    )
    _warn_of_numbers(source, filled)
    return result


def to_keras_hub(model: keras.Model) -> Any:
    """Converts an encoder into KerasHub's backbone of its family.

    The outputs at real tokens are the same. For RoBERTa, KerasHub numbers all
    positions, while this package, like Hugging Face, counts only tokens other than
    the padding token. The two agree if the padding token occurs only at the end.

    KerasHub's BERT and ELECTRA only have the approximate GELU. To accept the
    approximation, first copy `model.get_weights()` into an encoder whose
    configuration has `activation="gelu_tanh"`.

    Args:
        model: An encoder, or a model with one, whose head is dropped.

    Returns:
        A `keras_hub.models.Backbone` with copies of the weights.

    Warns:
        UserWarning: If the backbone has a pooler and the encoder has none, so
            that the pooler starts from random weights; or if weights have NaN
            or infinite values.

    Raises:
        ValueError: If KerasHub has no equivalent backbone. The message names the
            fields that differ: KerasHub's BERT, ALBERT and ELECTRA require
            `gelu_tanh`, epsilons are fixed, and the dropout rate of attention
            must equal the other one.

    Example:

    >>> config = kbl.EncoderConfig.named("bert_tiny_uncased", activation="gelu_tanh")
    >>> type(kbl.to_keras_hub(kbl.encoder(config))).__name__
    'BertBackbone'
    """
    import keras_hub  # imported here because it is slow and rarely needed

    body = encoder_of(model)
    config = config_of(body)
    row = row_of(config.family)
    arguments = write_config(config)
    backbone = getattr(keras_hub.models, f"{row.prefix}Backbone")(**arguments)
    wanted = hub_targets(backbone)
    if model_parts(body)["pooler"] is None and row.pooled:
        warnings.warn(
            f"{model.name!r} has no pooler; the pooler of KerasHub's "
            f"{type(backbone).__name__} starts from random weights.",
            stacklevel=2,
        )
        wanted = {k: x for k, x in wanted.items() if not k.startswith("pooled_dense/")}
    source = VariableSource(model.name, our_targets(row.names, body))
    _warn_of_numbers(source, fill(source, wanted, is_optional=lambda name: False))
    return backbone


def _warn_of_numbers(source: VariableSource, filled: Filled) -> None:
    for remark in Filled([], filled.not_finite).remarks():
        warnings.warn(f"{source.location} {remark}.", stacklevel=3)


def _family_and_task(model: Any) -> tuple[str, str | None]:
    """Returns the family and task of a model; subclasses are not accepted."""
    import keras_hub

    for family, row in HUB_FAMILIES.items():
        for task in (None, *TASKS):
            known = getattr(keras_hub.models, _class_name(row, task), None)
            if known is None or type(model) is not known:
                continue
            if task is None or type(model.backbone) is known.backbone_cls:
                return family, task
    known_classes = [_class_name(row, None) for row in HUB_FAMILIES.values()]
    raise ValueError(
        f"`model` must be one of KerasHub's {known_classes}, or a TextClassifier or "
        f"MaskedLM of one. Received: {model!r}"
    )


def _class_name(row: HubFamily, task: str | None) -> str:
    return row.prefix + (task or "Backbone")


def _functions(backbone: Any) -> Mapping[str, Any]:
    """Returns activation and epsilon, which are not arguments of the backbone."""
    blocks = [x for x in backbone.layers if hasattr(x, "intermediate_dim")]
    epsilons = [
        getattr(layer, name)
        for layer in backbone.layers
        for name in ("epsilon", "layer_norm_epsilon")
        if hasattr(layer, name)
    ]
    activations = [heads.activation_of(block.activation) for block in blocks]
    return {
        "activation": heads.one_of("activation", activations),
        "layer_norm_epsilon": heads.one_of("layer_norm_epsilon", epsilons),
    }
