"""Which layers of an encoder train."""

import keras

from keras_bert_lite import layers
from keras_bert_lite._private import sublayers
from keras_bert_lite.checks import check_not_negative
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    encoder_layers,
    encoder_of,
    recompile,
)


def freeze(model: keras.Model, num_layers: int, embeddings: bool = True) -> None:
    """Freezes the lowest layers of the encoder inside a model, and thaws the rest.

    The choice travels in `.keras` files and clones. Compile the model afterwards.
    `freeze(model, 0, embeddings=False)` thaws the whole encoder.

    Args:
        model: An encoder or a model built on one.
        num_layers: How many layers to freeze, from the lowest.
        embeddings: Whether to freeze the embeddings, and the tables of relative
            positions (DeBERTa, MPNet).

    Raises:
        ValueError: If the model holds no encoder or not as many layers, if some
            of the layers share weights with others that are to train (ALBERT),
            or if the weights are quantized or have LoRA's beside them.

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
    if stack.convolution is not None:  # beside the first block
        stack.convolution.trainable = not frozen
    for block in stack.blocks[:frozen]:
        block.trainable = False
    recompile(model)


def thaw(model: keras.Model) -> None:
    """Lets every weight train, whatever was frozen: whole layers or single ones."""
    for layer in sublayers(model):
        # Under TensorFlow Keras passes over a flag that is set already, and with
        # it over the sublayers.
        layer.trainable = False
        layer.trainable = True


def _count_blocks(stack: layers.Encoder, num_layers: int) -> int:
    """Returns how many blocks the lowest layers are."""
    count = stack.config.num_layers
    if num_layers > count:
        raise ValueError(
            f"`num_layers` must be at most {count}, the encoder's. "
            f"Received: {num_layers}"
        )
    shared = count // len(stack.blocks)
    if num_layers % shared:
        raise ValueError(
            f"`num_layers` must be a multiple of {shared}: the layers of this "
            f"encoder share weights by {shared}. Received: {num_layers}"
        )
    return num_layers // shared
