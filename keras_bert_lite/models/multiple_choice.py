"""Choosing among several texts."""

from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.encoder import id_inputs
from keras_bert_lite.models.sequence_head import head_arguments, sequence_vector


def multiple_choice(
    encoder: keras.Model,
    dropout: float | None = None,
    head_form: dict[str, Any] | None = None,
    name: str = "multiple_choice",
) -> keras.Model:
    """Builds a model that scores the choices of a question.

    Args:
        encoder, dropout, name: See `text_classifier`.
        head_form: See `text_classifier`; by default that of the family, but
            `{}` for RoBERTa, which scores choices by the `pooled_output`.

    Returns:
        A functional model whose inputs are those of an encoder with an axis of
        C choices, `(B, C, S)`, and whose output `logits`, `(B, C)`, scores
        each. A target is the index of the right choice.

    Reference: `BertForMultipleChoice` in transformers.
    """
    arguments = head_arguments(encoder, dropout, head_form)
    head = layers.DenseHead(1, **arguments)
    inputs = {
        key: keras.Input((None, None), dtype=x.dtype, name=key)
        for key, x in id_inputs().items()
    }
    rows = {
        key: layers.SplitChoices(name=f"split_{key}")(x) for key, x in inputs.items()
    }
    scores = head(sequence_vector(encoder(rows), head))
    logits = layers.JoinChoices(name="join_choices")(scores, inputs["token_ids"])
    return keras.Model(inputs, {"logits": logits}, name=name)
