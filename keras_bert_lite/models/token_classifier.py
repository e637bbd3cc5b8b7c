"""Classification of tokens: names, parts of speech, chunks."""

from collections.abc import Sequence

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of, id_inputs


def token_classifier(
    encoder: keras.Model,
    labels: Sequence[str],
    dropout: float | None = None,
    name: str = "token_classifier",
) -> keras.Model:
    """Builds a model that labels every token.

    Args:
        encoder: An encoder.
        labels: The names of the labels; a target is an index into them.
        dropout: Rate before the last layer; `None` means the encoder's.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the output `logits`,
        `(B, S, len(labels))`.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 5.3.
    """
    config = config_of(encoder)
    head = layers.ClassificationHead(
        labels,
        dropout=config.dropout if dropout is None else dropout,
        initializer_range=config.initializer_range,
        name="head",
    )
    inputs = id_inputs()
    logits = head(encoder(inputs)["sequence_output"])
    return keras.Model(inputs, {"logits": logits}, name=name)
