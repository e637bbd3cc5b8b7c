"""Prediction of masked words."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import (
    config_of,
    connect_layers,
    encoder_layers,
    id_inputs,
)


def masked_lm(
    encoder: keras.Model,
    tied: bool = True,
    activation: str | None = None,
    transform_name: str = "prediction_transform",
    name: str = "masked_lm",
) -> keras.Model:
    """Builds a masked language model: a score for each piece at each position.

    The model holds the encoder's own layers, so that its output is scored
    against the very table that its input was looked up in; `encoder_of` gives
    the encoder back.

    Args:
        encoder: An encoder.
        tied: Whether the output is scored against the token embedding.
            Otherwise it has weights of its own.
        activation: Of the hidden layer; `None` means the encoder's.
        transform_name: Name of the hidden layer, which decides the layout it is
            saved in: `"enhanced_transform"` for DeBERTa's own.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output
        `prediction_logits`, `(B, S, V)`.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 3.1.
    """
    inputs = id_inputs()
    outputs = connect_layers(inputs, *encoder_layers(encoder)[:2], None)
    logits = prediction_logits(encoder, outputs, tied, activation, transform_name)
    return keras.Model(inputs, {"prediction_logits": logits}, name=name)


def prediction_logits(
    encoder: keras.Model,
    outputs: dict[str, keras.KerasTensor],
    tied: bool,
    activation: str | None = None,
    transform_name: str = "prediction_transform",
) -> keras.KerasTensor:
    """Puts the head of a masked language model on an encoder's outputs."""
    config = config_of(encoder)
    transform = layers.MaskedLMTransform(
        config.embedding_dim or config.hidden_dim,
        activation=activation or config.activation,
        layer_norm_epsilon=config.layer_norm_epsilon,
        initializer_range=config.initializer_range,
        name=transform_name,
    )
    if tied:
        last = layers.VocabularyBias(name="prediction_bias")
    else:
        last = keras.layers.Dense(config.vocabulary_size, name="prediction_dense")
    embeddings = encoder_layers(encoder)[0]
    return word_scores(embeddings, transform, last, outputs["sequence_output"])


def masked_lm_head(
    model: keras.Model,
) -> tuple[layers.MaskedLMTransform, keras.layers.Layer]:
    """Returns the two layers of a model's head that predicts words.

    Raises:
        ValueError: If it has none.
    """
    names = {layer.name: layer for layer in model.layers}
    last = names.get("prediction_bias") or names.get("prediction_dense")
    for layer in model.layers:
        if last is not None and isinstance(layer, layers.MaskedLMTransform):
            return layer, last
    raise ValueError(
        "`model` must be made by `masked_lm` or `pretrainer`, or loaded with such a "
        f"head. Received: {model!r}"
    )


def word_scores(
    embeddings: layers.Embeddings,
    transform: layers.MaskedLMTransform,
    last: keras.layers.Layer,
    x: keras.KerasTensor,
) -> keras.KerasTensor:
    """Scores each piece of the vocabulary for each vector."""
    x = transform(x)
    if isinstance(last, layers.VocabularyBias):
        x = embeddings(x, reverse=True)
    return last(x)
