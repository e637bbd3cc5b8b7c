"""Freezing and unfreezing the layers of an encoder."""

import keras

from keras_bert_lite import layers
from keras_bert_lite._private import sublayers
from keras_bert_lite.checks import check_not_negative
from keras_bert_lite.compiled import discard_compiled
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    encoder_layers,
    encoder_of,
)


def freeze(model: keras.Model, num_layers: int, embeddings: bool = True) -> None:
    """Freezes the lowest layers of a model's encoder and unfreezes the others.

    The setting is kept in `.keras` files and clones. Compile the model afterwards.
    `freeze(model, 0, embeddings=False)` unfreezes the whole encoder.

    Args:
        model: An encoder or a model built on one.
        num_layers: How many layers to freeze, counted from the embeddings.
        embeddings: Whether to freeze the embeddings and the relative position
            tables (DeBERTa, MPNet).

    Raises:
        ValueError: If the model has no encoder or too few layers, if some of the
            layers share weights with trainable ones (ALBERT), or if the weights
            are quantized or LoRA is enabled.

    Example:

    >>> encoder = kbl.encoder(kbl.EncoderConfig.named("bert_tiny_uncased"))
    >>> kbl.tuning.freeze(encoder, num_layers=1)
    >>> sum(x.numpy().size for x in encoder.trainable_weights)
    214784
    """
    check_not_negative("num_layers", num_layers)
    check_plain_weights(model)
    encoder = encoder_of(model)
    bottom, stack, _ = encoder_layers(encoder)
    frozen = _count_blocks(stack, num_layers)
    thaw(encoder)
    bottom.trainable = not embeddings
    for table in (stack.relative_table, stack.relative_bias):
        if table is not None:
            table.trainable = not embeddings
    if stack.convolution is not None:  # parallel to the first block
        stack.convolution.trainable = not frozen
    for block in stack.blocks[:frozen]:
        block.trainable = False
    discard_compiled(model)


def thaw(model: keras.Model) -> None:
    """Makes every weight trainable, also in partly frozen layers."""
    for layer in sublayers(model):
        # With TensorFlow, Keras ignores a flag that does not change, and so leaves
        # the sublayers unchanged too.
        layer.trainable = False
        layer.trainable = True


def _count_blocks(stack: layers.Encoder, num_layers: int) -> int:
    """Returns the number of blocks in the lowest layers."""
    count = stack.num_layers
    if num_layers > count:
        raise ValueError(
            f"`num_layers` must be at most {count}, the encoder's number of layers. "
            f"Received: {num_layers}"
        )
    shared = count // len(stack.blocks)
    if num_layers % shared:
        raise ValueError(
            f"`num_layers` must be a multiple of {shared}: the layers of this "
            f"encoder share weights in groups of {shared}. Received: {num_layers}"
        )
    return num_layers // shared
