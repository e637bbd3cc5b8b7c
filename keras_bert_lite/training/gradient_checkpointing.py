"""Gradient checkpointing, which trades time for memory."""

import keras

from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of


def set_gradient_checkpointing(model: keras.Model, choice: bool = True) -> None:
    """Turns gradient checkpointing of the encoder's blocks on or off.

    With checkpointing, only the output of each block is kept; the backward pass
    recomputes the rest with the same dropout masks. The gradients are the same, and
    a step takes about a third longer. The setting is kept in `.keras` files and
    clones.

    Args:
        model: An encoder or a model built on one.
        choice: Whether to checkpoint.

    Raises:
        TypeError: If `choice` is not a boolean.
        ValueError: If the model has no encoder.

    Reference: [Chen et al., 2016](https://arxiv.org/abs/1604.06174).
    """
    encoder_layers(encoder_of(model))[1].gradient_checkpointing = choice
