"""Choosing among several texts."""

from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import config_of
from keras_bert_lite.models.sequence_head import (
    grouped_inputs,
    head_arguments,
    sequence_vector,
)

# Families that score choices so, though they classify by a layer of their own.
BY_POOLED_OUTPUT = ("roberta", "xlm-roberta")


def multiple_choice(
    encoder: keras.Model,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    pooling: str | None = None,
    name: str = "multiple_choice",
) -> keras.Model:
    """Builds a model that scores the choices of a question.

    Args:
        encoder, dropout, pooling, name: See `text_classifier`.
        head_form: See `text_classifier`; by default that of the family, but
            `{}` for RoBERTa, which scores choices by the `pooled_output`.

    Returns:
        A functional model whose inputs are those of an encoder with an axis of
        C choices, `(B, C, S)`, and whose output `logits`, `(B, C)`, scores
        each. A target is the index of the right choice.

    Reference: `BertForMultipleChoice` in transformers.
    """
    if head_form is None and config_of(encoder).family in BY_POOLED_OUTPUT:
        head_form = {}
    arguments = head_arguments(encoder, dropout, head_form, pooling)
    head = layers.DenseHead(1, **arguments)
    inputs, rows = grouped_inputs()
    scores = head(sequence_vector(encoder, rows, head, pooling))
    logits = layers.JoinChoices(name="join_choices")(scores, inputs["token_ids"])
    return keras.Model(inputs, {"logits": logits}, name=name)
