"""Models whose encoder is made of other parts, which export in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite._private import sublayers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers.base import EncoderPart
from keras_bert_lite.layers.encoder_block import NORM_SLOTS
from keras_bert_lite.tasks.text_model import TextModel

Part = Any  # a layer of an encoder, or one that takes its place


def with_layers(part: EncoderPart, replace: Callable[[Any], Any]) -> Any:
    """Returns a layer like another, but with other dense layers.

    Args:
        part: A layer that is built.
        replace: Returns what takes the place of one of its dense layers (`LAYERS`).
    """
    twin: Any = type(part).from_config(part.get_config())
    for name in twin.LAYERS:
        layer = getattr(part, name)
        setattr(twin, name, None if layer is None else replace(layer))
    twin.build((None, None, part.output_dense.units))
    pairs = zip(_own_weights(part), _own_weights(twin), strict=True)
    for source, target in pairs:  # of a class that adds weights
        target.assign(source)
    return twin


def _own_weights(part: EncoderPart) -> list[keras.Variable]:
    """Returns the weights of a layer that are not those of its dense layers."""
    layers_of_it = (getattr(part, name) for name in part.LAYERS)
    dense = {id(y) for x in layers_of_it if x is not None for y in x.weights}
    return [x for x in part.weights if id(x) not in dense]


def check_blocks(blocks: list[layers.EncoderBlock], option: str) -> None:
    """Raises an error if a block is of a class that exports cannot take apart."""
    for block in blocks:
        if type(block) is not layers.EncoderBlock:
            raise ValueError(
                f"`{option}` must not be set for encoders with blocks of a class of "
                f"your own. Received: {type(block).__name__}"
            )


def with_parts(
    block: layers.EncoderBlock,
    attention: Part = None,
    feed_forward: Part = None,
    norm: Callable = lambda layer: layer,
) -> layers.EncoderBlock:
    """Returns a block with other parts.

    Args:
        block: A block.
        attention, feed_forward: The new parts; `None` keeps its own.
        norm: Returns what takes the place of one of its normalizations.
    """
    slots = {name: getattr(block, name) for name in NORM_SLOTS}
    return layers.EncoderBlock(
        dropout=block.dropout.rate,
        attention=attention or block.attention,
        feed_forward=feed_forward or block.feed_forward,
        norms={name: norm(x) for name, x in slots.items() if x is not None},
        dtype=block.dtype_policy,
        name=block.name,
    )


def with_blocks(
    encoder: layers.Encoder,
    blocks: list[layers.EncoderBlock],
    kind: type[layers.Encoder] = layers.Encoder,
    projection: Part = None,
    norm: Callable = lambda layer: layer,
) -> layers.Encoder:
    """Returns an encoder with other blocks.

    Args:
        encoder: An encoder that is built.
        blocks: The blocks in place of its own.
        kind: The class of the new one.
        projection: The new projection; `None` keeps its own.
        norm: Returns what takes the place of its last normalization.
    """
    last = encoder.final_norm
    names = (*encoder.PARTS, *encoder.OPTIONS, "config")
    parts = {name: getattr(encoder, name) for name in names}
    parts["projection"] = projection or encoder.projection
    parts["final_norm"] = None if last is None else norm(last)
    return kind(blocks=blocks, **parts, dtype=encoder.dtype_policy, name=encoder.name)


def with_encoder(
    model: TextModel, old: layers.Encoder, new: layers.Encoder
) -> TextModel:
    """Returns a model with the same layers, but for its encoder."""
    again = _with_layer(model, old, new)
    return TextModel(again.input, again.output, name=model.name)


def _with_layer(
    model: keras.Model, old: keras.layers.Layer, new: keras.layers.Layer
) -> keras.Model:
    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if layer is old:
            layer = new
        elif isinstance(layer, keras.Model) and any(x is old for x in sublayers(layer)):
            layer = _with_layer(layer, old, new)
        return layer(*args, **kwargs)

    # A new model, for a clone of a compiled one would compile itself too.
    return keras.models.clone_model(
        keras.Model(model.input, model.output, name=model.name),
        call_function=call,
        clone_function=lambda layer: layer,
    )


def on_rows(product: Callable, x: tf.Tensor, width: int) -> tf.Tensor:
    """Applies a product of matrices to the last axis: (..., K) -> (..., width)."""
    found = product(tf.reshape(x, [-1, x.shape[-1]]))
    shape = [*x.shape[:-1], width]
    if len(shape) != 2:
        found = tf.reshape(found, tf.concat([tf.shape(x)[:-1], [width]], 0))
    return tf.ensure_shape(found, shape)
