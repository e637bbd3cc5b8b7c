"""Loading the Hugging Face layout: config.json and model.safetensors."""

from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.core.assign import fill_model, is_new_pooler
from keras_bert_lite.checkpoints.core.name_table import Table, model_parts, targets
from keras_bert_lite.checkpoints.hugging_face.config import read_config, read_family
from keras_bert_lite.checkpoints.hugging_face.families import Family
from keras_bert_lite.checkpoints.hugging_face.head_builders import is_tied
from keras_bert_lite.checkpoints.hugging_face.heads import Head
from keras_bert_lite.checkpoints.hugging_face.names import ENCODER_PARTS
from keras_bert_lite.checkpoints.hugging_face.safetensors_files import SafetensorsSource
from keras_bert_lite.checkpoints.sources import Source
from keras_bert_lite.checkpoints.tokenizers.loading import (
    load_preprocessor as load_preprocessor,
    load_tokenizer as load_tokenizer,
)
from keras_bert_lite.models.encoder_model import encoder

BASE = "Model"


def detect(source: Source) -> bool:
    """Returns whether a source is a directory with `model.safetensors*`."""
    return isinstance(source, Path) and any(source.glob("model.safetensors*"))


def load_encoder(
    directory: Path, pooling: str | None, changes: dict[str, Any]
) -> keras.Model:
    """Loads the encoder of a directory; see `load.load_encoder`."""
    family, raw = read_family(directory)
    source = _source(directory, family, raw)
    stored = "cls_dense" if _has(source, _pooler_tensors(family)) else None
    config = read_config(
        directory, raw, stored if pooling == "checkpoint" else pooling, changes
    )
    model = encoder(config)
    found = targets(_names(family, source), model_parts(model))
    new_pooler = is_new_pooler(pooling, stored)
    return fill_model(source, model, found, ENCODER_PARTS, new_pooler)


def load_model(directory: Path, changes: dict[str, Any]) -> keras.Model:
    """Loads the model of a directory with its head; see `load.load_model`."""
    family, raw = read_family(directory)
    suffix = architecture_suffix(directory, family, raw)
    if suffix == BASE:
        return load_encoder(directory, "checkpoint", changes)
    head = _head(directory, family, suffix, raw)
    source = _source(directory, family, raw)
    if head.pooled and not _has(source, _pooler_tensors(family)):
        raise ValueError(f"{source.location} lacks the tensors 'pooler.*'.")
    pooling = "cls_dense" if head.pooled else None
    body = encoder(read_config(directory, raw, pooling, changes))
    try:
        model = head.build(body, raw, head)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{directory / 'config.json'}: {error}") from error
    found = targets({**_names(family, source), **head.names}, model_parts(model))
    return fill_model(source, model, found, ENCODER_PARTS)


def architecture_suffix(directory: Path, family: Family, raw: dict[str, Any]) -> str:
    """Returns the suffix of the class in `architectures`, such as `ForMaskedLM`.

    Raises:
        ValueError: If `architectures` is not a list of names, or names a class of
            another family.
    """
    architectures = raw.get("architectures") or [family.class_prefix + BASE]
    name = architectures[0] if isinstance(architectures, list) else None
    if not isinstance(name, str) or not name.startswith(family.class_prefix):
        raise ValueError(
            f"{directory / 'config.json'}: `architectures` must name a class of "
            f"{family.class_prefix}. Received: {architectures!r}"
        )
    return name.removeprefix(family.class_prefix)


def _head(directory: Path, family: Family, suffix: str, raw: dict[str, Any]) -> Head:
    if suffix not in family.heads:
        raise ValueError(
            f"{directory / 'config.json'}: the head of {family.class_prefix}{suffix} "
            f"is not supported; those of {sorted(family.heads)} are. `load_encoder` "
            "loads the encoder without it."
        )
    head = family.heads[suffix]
    return head if raw.get("legacy", True) else head.enhanced or head


def _source(directory: Path, family: Family, raw: dict[str, Any]) -> SafetensorsSource:
    return SafetensorsSource(
        directory, family.prefix, _other_names(family, is_tied(raw)), is_tied(raw)
    )


def _other_names(family: Family, tied: bool) -> dict[str, str]:
    """Returns aliases for the tensors of the output layer; see `SafetensorsSource`."""
    names = {
        f"{alias}.{tensor}": f"{name}.{tensor}"
        for alias, name in family.aliases.items()
        for tensor in ("weight", "bias")
    }
    words = _module_of(family, "embeddings.token_embedding")
    for head in family.heads.values():
        for module, path in head.names.items():
            if "prediction_dense" not in path:
                continue
            if tied:
                names[f"{module}.weight"] = f"{words}.weight"
            if path == "prediction_dense":
                own, tied_bias = f"{module}.bias", unused_bias(module)
                names |= {own: tied_bias} if tied else {tied_bias: own}
    return names


def _names(family: Family, source: SafetensorsSource) -> Table:
    """Returns the names of the encoder's modules that a checkpoint uses."""
    others = [name.replace("{i}", "0") for name in family.modules.keys() - family.names]
    used = any(name.startswith(tuple(others)) for name in source.names())
    return family.modules if used else family.names


def _module_of(family: Family, path: str) -> str:
    return next(name for name, found in family.names.items() if found == path)


def unused_bias(module: str) -> str:
    """Returns the name of the second bias, which only a tied output layer uses."""
    return module.removesuffix(".decoder") + ".bias"


def _pooler_tensors(family: Family) -> list[str]:
    modules = [name for name, path in family.names.items() if path == "pooler.dense"]
    return [f"{module}.{x}" for module in modules for x in ("weight", "bias")]


def _has(source: SafetensorsSource, names: list[str]) -> bool:
    return bool(set(names) & set(source.names()))
