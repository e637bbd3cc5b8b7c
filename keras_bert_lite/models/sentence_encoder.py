"""Sentence embeddings."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.config import check_choice
from keras_bert_lite.models.encoder import config_of, id_inputs

POOLINGS = ("mean", "max", "cls", "attention")


def sentence_encoder(
    encoder: keras.Model,
    pooling: str = "mean",
    normalize: bool = True,
    name: str = "sentence_encoder",
) -> keras.Model:
    """Builds a model that turns a text into one vector.

    Args:
        encoder: An encoder.
        pooling: `"mean"` or `"max"` of the tokens' vectors, `"cls"`, that of the
            first token, or `"attention"`, a weighted sum that is learned.
        normalize: Whether to scale the vector to length 1.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output
        `sentence_embedding`, `(B, H)`.

    Reference: [Reimers and Gurevych, 2019](https://arxiv.org/abs/1908.10084).
    """
    check_choice("pooling", pooling, POOLINGS)
    inputs = id_inputs()
    tokens = encoder(inputs)["sequence_output"]
    if pooling == "cls":
        vector = layers.FirstToken(name="pooling")(tokens)
    else:
        pooler = layers.Pooler(
            pooling, config_of(encoder).initializer_range, name="pooling"
        )
        vector = pooler(tokens, padding_mask=inputs["padding_mask"])
    if normalize:
        vector = keras.layers.UnitNormalization(name="normalize")(vector)
    return keras.Model(inputs, {"sentence_embedding": vector}, name=name)
