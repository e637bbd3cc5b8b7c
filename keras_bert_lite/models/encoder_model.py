"""Encoders as functional models."""

import contextlib
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite._private import sublayers
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_parts import (
    make_blocks,
    make_embeddings,
    make_pooler,
)

GENERATOR = "generator_"  # name prefix of ELECTRA's generator layers


def encoder(
    config: EncoderConfig,
    hidden_states: bool = False,
    attentions: bool = False,
    unpadding: bool | str = "auto",
    name: str = "encoder",
) -> keras.Model:
    """Builds an encoder with freshly initialized weights.

    Args:
        config: The encoder's configuration.
        hidden_states: Whether to return every layer's hidden states.
        attentions: Whether to return every layer's attention weights.
        unpadding: Whether to compute on real tokens only; see
            `layers.Encoder`.
        name: Name of the model.

    Returns:
        A functional model. Inputs: `token_ids` and `segment_ids` (int32) and
        `padding_mask` (bool, true at real tokens), each `(B, S)`. Outputs:
        `sequence_output` `(B, S, H)`; `pooled_output` `(B, H)` unless
        `config.pooling` is `None`; on request `hidden_states`, a list of L + 1
        tensors `(B, S, H)`, and `attentions`, a list of L tensors
        `(B, N, S, S)`.

    Example:

    >>> model = encoder(EncoderConfig.named("bert_tiny_uncased"))
    >>> model.count_params()
    4385920
    """
    blocks = make_blocks(
        config,
        hidden_states=hidden_states,
        attentions=attentions,
        unpadding=unpadding,
    )
    return _model(make_embeddings(config), blocks, make_pooler(config), name)


def with_hidden_states(
    model: keras.Model, hidden_states: bool = True, attentions: bool = True
) -> keras.Model:
    """Returns an encoder with the same weights that also returns its hidden states.

    Args:
        model: A model made by `encoder` or `load_encoder`.
        hidden_states: Whether to return every layer's hidden states.
        attentions: Whether to return every layer's attention weights.

    Returns:
        A functional model with the outputs of `encoder(...)`.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> len(kbl.with_hidden_states(encoder).output["hidden_states"])
    3
    """
    embeddings, blocks, pooler = encoder_layers(model)
    blocks = blocks.with_outputs(hidden_states, attentions)
    return _model(embeddings, blocks, pooler, model.name)


def without_pooler(model: keras.Model) -> keras.Model:
    """Returns an encoder with the same weights and no pooler.

    An unused pooler would get no gradient, and Keras would warn about it.
    """
    embeddings, blocks, pooler = encoder_layers(model)
    if pooler is None:
        return model
    return _model(embeddings, blocks, None, model.name)


def set_unpadding(model: keras.Model, choice: bool | str) -> None:
    """Sets whether the encoder in a model skips padding.

    Args:
        model: A model that contains an encoder.
        choice: `True`, `False` or `"auto"`; see `layers.Encoder`.

    Raises:
        ValueError: If the model contains no encoder, or the choice is invalid.
        NotImplementedError: If `True` and the backend is not TensorFlow.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> kbl.set_unpadding(encoder, False)  # computes padding too, as XLA needs
    """
    encoder_layers(encoder_of(model))[1].unpadding = choice


def encoder_of(model: keras.Model) -> keras.Model:
    """Returns the encoder of a model: the model itself, or a model inside it.

    If a model holds the encoder's layers directly, as those of `masked_lm` do, the
    result is a new model of these layers.

    Raises:
        ValueError: If the model contains no encoder.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"])
    >>> kbl.encoder_of(model) is encoder
    True
    """
    for candidate in (model, *getattr(model, "layers", ())):
        if not isinstance(candidate, keras.Model):
            continue
        if any(isinstance(layer, layers.Embeddings) for layer in candidate.layers):
            return _alone(candidate)
        if candidate is not model:
            with contextlib.suppress(ValueError):
                return encoder_of(candidate)
    raise ValueError(
        f"`model` must be an encoder or a model built on one. Received: {model!r}"
    )


def encoder_layers(
    model: keras.Model,
) -> tuple[layers.Embeddings, layers.Encoder, layers.Pooler | None]:
    """Returns the embeddings, the blocks and the pooler (or `None`) of an encoder.

    Raises:
        ValueError: If the model was not made by `encoder`.
    """
    kinds = (layers.Embeddings, layers.Encoder, layers.Pooler)
    found: dict[type, Any] = {
        kind: layer
        for layer in model.layers
        for kind in kinds
        if isinstance(layer, kind) and not layer.name.startswith(GENERATOR)
    }
    if layers.Embeddings not in found or layers.Encoder not in found:
        raise ValueError(
            "`model` must be an encoder made by `encoder` or `load_encoder`; "
            "`encoder_of(model)` returns that of another model. "
            f"Received: {model!r}"
        )
    return found[layers.Embeddings], found[layers.Encoder], found.get(layers.Pooler)


def config_of(model: keras.Model) -> EncoderConfig:
    """Returns the configuration of an encoder, read from its layers.

    Raises:
        ValueError: If the model was not made by `encoder`, but of layers alone.
    """
    _, blocks, pooler = encoder_layers(model)
    if blocks.config is None:
        raise ValueError(
            "`model` must have an encoder that was made by `encoder` or "
            "`load_encoder`, from a configuration. Received one of layers alone: "
            f"{model!r}"
        )
    # The pooler may have been removed.
    return blocks.config.replace(pooling=pooler and pooler.pooling)


def id_inputs() -> dict[str, keras.KerasTensor]:
    """Returns the inputs of every model on token ids."""
    return {
        "token_ids": keras.Input((None,), dtype="int32", name="token_ids"),
        "segment_ids": keras.Input((None,), dtype="int32", name="segment_ids"),
        "padding_mask": keras.Input((None,), dtype="bool", name="padding_mask"),
    }


def connect_layers(
    inputs: dict[str, keras.KerasTensor],
    embeddings: layers.Embeddings,
    blocks: layers.Encoder,
    pooler: layers.Pooler | None,
) -> dict[str, Any]:
    """Returns an encoder's outputs by name."""
    return connect_with_table(inputs, embeddings, blocks, pooler)[0]


def connect_with_table(
    inputs: dict[str, keras.KerasTensor],
    embeddings: layers.Embeddings,
    blocks: layers.Encoder,
    pooler: layers.Pooler | None,
) -> tuple[dict[str, Any], keras.KerasTensor]:
    """Returns an encoder's outputs by name, and the table of its token embeddings."""
    # Keras wants as many outputs from each call of a layer as from the first.
    x, table = embeddings(
        inputs["token_ids"], **position_inputs(inputs), return_table=True
    )
    return connect_above(inputs, x, blocks, pooler), table


def connect_above(
    inputs: dict[str, keras.KerasTensor],
    x: keras.KerasTensor,
    blocks: layers.Encoder,
    pooler: layers.Pooler | None,
) -> dict[str, Any]:
    """Returns the outputs by name of what is above the embeddings."""
    outputs = connect_blocks(inputs, x, blocks)
    if pooler is None:
        return outputs
    pooled = pooler(outputs["sequence_output"], padding_mask=inputs["padding_mask"])
    return {**outputs, "pooled_output": pooled}


def position_inputs(
    inputs: dict[str, keras.KerasTensor],
) -> dict[str, keras.KerasTensor]:
    """Returns segment ids and, for packed rows, positions that restart."""
    arguments = {"segment_ids": inputs["segment_ids"]}
    if "sequence_ids" in inputs:
        positions = layers.SequencePositions(name="positions")
        arguments["position_ids"] = positions(inputs["sequence_ids"])
    return arguments


def connect_blocks(
    inputs: dict[str, keras.KerasTensor], x: keras.KerasTensor, blocks: layers.Encoder
) -> dict[str, Any]:
    """Returns the outputs of an encoder's blocks by name."""
    masks = {"padding_mask", "sequence_ids"} & inputs.keys()
    return blocks(x, **{name: inputs[name] for name in sorted(masks)})


def _model(
    embeddings: layers.Embeddings,
    blocks: layers.Encoder,
    pooler: layers.Pooler | None,
    name: str,
) -> keras.Model:
    inputs = id_inputs()
    outputs = connect_layers(inputs, embeddings, blocks, pooler)
    return keras.Model(inputs, outputs, name=name)


def _alone(model: keras.Model) -> keras.Model:
    if isinstance(model.output, dict) and "sequence_output" in model.output:
        return model
    return _model(*encoder_layers(model), "encoder")


def copy_weights(source: keras.layers.Layer, target: keras.layers.Layer) -> None:
    """Copies the weights of a layer to another of the same kind; both are built."""
    for variable, value in zip(target.variables, source.variables, strict=True):
        variable.assign(value)


def check_plain_weights(model: keras.Model) -> None:
    """Raises an error if a layer is quantized or has LoRA weights."""
    for layer in sublayers(model):
        if getattr(layer, "lora_enabled", False):
            raise ValueError(
                "`model` must be without LoRA: `tuning.merge_lora(model)` returns a "
                f"plain model. Received: {layer.path!r} with LoRA"
            )
        if getattr(layer, "quantization_mode", None) is not None:
            raise ValueError(
                "`model` must not be quantized; change it before `quantize`. "
                f"Received: {layer.path!r} in {layer.quantization_mode!r}"
            )
