"""BERT checkpoints in Hugging Face layout: config.json and model.safetensors."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.sources import read_json, resolve
from keras_bert_lite.checkpoints.weights import Weights
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.classifier import text_classifier
from keras_bert_lite.models.encoder import encoder, encoder_layers

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
# Options that change the result and that this encoder does not have.
REFUSED = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
    "quantization_config": None,
}
CHANGEABLE = ("dropout", "attention_dropout")
FIELDS = {
    "vocabulary_size": "vocab_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "hidden_dim": "hidden_size",
    "intermediate_dim": "intermediate_size",
}
OPTIONAL_FIELDS = {
    "max_sequence_length": ("max_position_embeddings", 512),
    "num_segments": ("type_vocab_size", 2),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
    "initializer_range": ("initializer_range", 0.02),
}
# Hugging Face names of tensors, by our sublayers. Dense kernels are stored
# transposed there; `{i}` is the number of the block.
EMBEDDINGS = {
    "word_embeddings.weight": "token_embedding/embeddings",
    "position_embeddings.weight": "position_embedding/embeddings",
    "token_type_embeddings.weight": "segment_embedding/embeddings",
    "LayerNorm.weight": "layer_norm/gamma",
    "LayerNorm.bias": "layer_norm/beta",
}
BLOCK = {
    "attention.self.query.weight": "attention/query/kernel",
    "attention.self.query.bias": "attention/query/bias",
    "attention.self.key.weight": "attention/key/kernel",
    "attention.self.key.bias": "attention/key/bias",
    "attention.self.value.weight": "attention/value/kernel",
    "attention.self.value.bias": "attention/value/bias",
    "attention.output.dense.weight": "attention/output_dense/kernel",
    "attention.output.dense.bias": "attention/output_dense/bias",
    "attention.output.LayerNorm.weight": "attention_norm/gamma",
    "attention.output.LayerNorm.bias": "attention_norm/beta",
    "intermediate.dense.weight": "intermediate_dense/kernel",
    "intermediate.dense.bias": "intermediate_dense/bias",
    "output.dense.weight": "output_dense/kernel",
    "output.dense.bias": "output_dense/bias",
    "output.LayerNorm.weight": "output_norm/gamma",
    "output.LayerNorm.bias": "output_norm/beta",
}
DENSE = {"weight": "dense/kernel", "bias": "dense/bias"}


def load_encoder(
    source: str | os.PathLike, pooling: str | None = "checkpoint", **changes: Any
) -> keras.Model:
    """Loads the encoder of a BERT checkpoint.

    Args:
        source: A directory in Hugging Face layout, or `hf://owner/name`.
        pooling: How `pooled_output` is made; see `EncoderConfig`. By default
            as in the checkpoint: `"first_token"` if it has BERT's pooler,
            else no pooled output.
        **changes: `dropout` or `attention_dropout`, to replace the rates in
            the checkpoint.

    Returns:
        A model as `encoder` makes it.

    Warns:
        UserWarning: If a pooler starts from random weights, or weights of the
            checkpoint stay unused.

    Raises:
        ValueError: If the checkpoint is not a BERT, or its tensors are not
            exactly those that its configuration asks for.
    """
    directory = resolve(source)
    with Weights(directory) as weights:
        config = _changed(_read_config(directory, weights, pooling), changes)
        model = encoder(config)
        targets = dict(_encoder_targets(model, weights))
        _assign(weights, targets)
        weights.warn_unused(targets)
    return model


def load_model(source: str | os.PathLike, **changes: Any) -> keras.Model:
    """Loads a BERT checkpoint with its own head.

    Args:
        source: A directory in Hugging Face layout, or `hf://owner/name`.
        **changes: As in `load_encoder`.

    Returns:
        For `BertModel` an encoder; for `BertForSequenceClassification` a
        `text_classifier` with the checkpoint's label names.

    Raises:
        ValueError: As `load_encoder`; or if the head is of another kind.
    """
    directory = resolve(source)
    architecture = _architecture(read_json(directory / "config.json"))
    if architecture == "BertModel":
        return load_encoder(directory, **changes)
    if architecture != "BertForSequenceClassification":
        raise ValueError(
            f"{directory / 'config.json'}: the head of {architecture} is not "
            "supported. `load_encoder` loads the encoder without it."
        )
    with Weights(directory) as weights:
        config = _changed(_read_config(directory, weights, "first_token"), changes)
        if not weights.has_pooler:
            raise ValueError(f"{weights.path} lacks the tensors 'pooler.dense.*'.")
        labels = _labels(directory)
        dropout = read_json(directory / "config.json").get("classifier_dropout")
        model = text_classifier(encoder(config), labels, dropout=dropout)
        head = model.get_layer("head")
        targets = dict(_encoder_targets(model.get_layer("encoder"), weights))
        targets |= _layer_targets("classifier.", DENSE, head)
        _assign(weights, targets)
        weights.warn_unused(targets)
    return model


def _read_config(
    directory: Path, weights: "Weights", pooling: str | None
) -> EncoderConfig:
    path = directory / "config.json"
    raw = read_json(path)
    if raw.get("model_type") != "bert":
        raise ValueError(
            f"{path}: `model_type` must be 'bert'. Received: {raw.get('model_type')!r}"
        )
    for name, value in REFUSED.items():
        if raw.get(name, value) != value:
            raise ValueError(
                f"{path}: `{name}` must be {value!r}. Received: {raw[name]!r}"
            )
    activation = raw.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"{path}: `hidden_act` must be one of {sorted(ACTIVATIONS)}. "
            f"Received: {activation!r}"
        )
    missing = [name for name in FIELDS.values() if name not in raw]
    if missing:
        raise ValueError(f"{path}: the fields {missing} are missing.")
    values = {field: raw[name] for field, name in FIELDS.items()}
    for field, (name, default) in OPTIONAL_FIELDS.items():
        values[field] = raw.get(name, default)
    if pooling == "checkpoint":
        pooling = "first_token" if weights.has_pooler else None
    try:
        return EncoderConfig(
            **values, activation=ACTIVATIONS[activation], pooling=pooling
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _changed(config: EncoderConfig, changes: dict[str, Any]) -> EncoderConfig:
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise ValueError(
                f"Only {CHANGEABLE} may differ from the checkpoint. "
                f"Received: {name}={value!r}"
            )
    return config.replace(**changes)


def _architecture(raw: dict[str, Any]) -> str:
    return (raw.get("architectures") or ["BertModel"])[0]


def _labels(directory: Path) -> list[str]:
    raw = read_json(directory / "config.json")
    names = raw.get("id2label") or {str(i): f"LABEL_{i}" for i in range(2)}
    if raw.get("problem_type") not in (None, "single_label_classification"):
        raise ValueError(
            f"{directory / 'config.json'}: `problem_type` must be "
            f"'single_label_classification'. Received: {raw['problem_type']!r}"
        )
    return [names[key] for key in sorted(names, key=int)]


def _encoder_targets(
    model: keras.Model, weights: "Weights"
) -> Iterator[tuple[str, keras.Variable]]:
    """Yields the checkpoint's name of each variable, without prefix."""
    embeddings, blocks, pooler = encoder_layers(model)
    yield from _layer_targets("embeddings.", EMBEDDINGS, embeddings).items()
    for i, block in enumerate(blocks.blocks):
        yield from _layer_targets(f"encoder.layer.{i}.", BLOCK, block).items()
    if pooler is None or pooler.pooling in ("mean", "max"):
        return
    if pooler.pooling == "first_token" and weights.has_pooler:
        yield from _layer_targets("pooler.dense.", DENSE, pooler).items()
    else:
        warnings.warn(
            f"{weights.directory} has no weights for the {pooler.pooling!r} pooler, "
            "which starts from random weights.",
            stacklevel=3,
        )


def _layer_targets(
    prefix: str, table: dict[str, str], layer: keras.layers.Layer
) -> dict[str, keras.Variable]:
    targets = {}
    for name, path in table.items():
        *sublayers, variable = path.split("/")
        owner = layer
        for sublayer in sublayers:
            owner = getattr(owner, sublayer)
        targets[prefix + name] = getattr(owner, variable)
    return targets


def _assign(weights: "Weights", targets: dict[str, keras.Variable]) -> None:
    """Checks every tensor, then assigns them all."""
    weights.check(
        {name: _stored_shape(name, target) for name, target in targets.items()}
    )
    for name, target in targets.items():
        value = weights.read(name)
        target.assign(value.T if _is_transposed(name, target) else value)


def _is_transposed(name: str, target: keras.Variable) -> bool:
    return len(target.shape) == 2 and "embeddings." not in name


def _stored_shape(name: str, target: keras.Variable) -> tuple[int, ...]:
    shape = tuple(target.shape)
    return shape[::-1] if _is_transposed(name, target) else shape
