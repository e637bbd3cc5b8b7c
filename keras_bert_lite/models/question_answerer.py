"""Extractive question answering."""

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of, id_inputs, without_pooler


def question_answerer(
    encoder: keras.Model, dropout: float | None = None, name: str = "question_answerer"
) -> keras.Model:
    """Builds a model that scores tokens as the begin and the end of an answer.

    Args:
        encoder: An encoder. The model leaves out its pooler, if it has one.
        dropout: Rate before the last layer; by default 0, as BERT has it.
        name: Name of the model.

    Returns:
        A functional model with the encoder's inputs and the outputs
        `start_logits` and `end_logits`, `(B, S)` each, -10,000 at padding.
        Train it with `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`
        for each, on what `question_dataset` makes, with `loss_weights` of 0.5 each:
        BERT's loss is their mean.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805), section 4.2.
    """
    head = layers.SpanHead(
        dropout=dropout or 0.0,
        initializer_range=config_of(encoder).initializer_range,
        name="head",
    )
    inputs = id_inputs()
    tokens = without_pooler(encoder)(inputs)["sequence_output"]
    outputs = head(tokens, padding_mask=inputs["padding_mask"])
    return keras.Model(inputs, outputs, name=name)
