"""Gradient checkpointing: less memory for more time."""

import keras

from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of, recompile


def set_gradient_checkpointing(model: keras.Model, choice: bool = True) -> None:
    """Chooses whether training keeps what the encoder's blocks compute inside.

    With checkpointing only the output of each block is kept; the backward pass
    computes the rest again, by the same dropout masks. The gradients are the
    same, for about a third more time. It travels in `.keras` files and clones.

    Args:
        model: An encoder or a model built on one.
        choice: Whether to checkpoint.

    Raises:
        TypeError: If `choice` is not a boolean.
        ValueError: If the model holds no encoder.

    Reference: [Chen et al., 2016](https://arxiv.org/abs/1604.06174).
    """
    encoder_layers(encoder_of(model))[1].gradient_checkpointing = choice
    recompile(model)
