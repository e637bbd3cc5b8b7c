"""Encoders and models from any source."""

import os
from typing import Any

import keras

from keras_bert_lite.checkpoints import hugging_face, sentence_transformers
from keras_bert_lite.checkpoints.sources import resolve


def load_encoder(
    source: str | os.PathLike, pooling: str | None = "checkpoint", **changes: Any
) -> keras.Model:
    """Loads the encoder of a checkpoint, of any family.

    Args:
        source: A directory in Hugging Face layout, or `hf://owner/name`.
        pooling: How `pooled_output` is made; see `EncoderConfig`. By default
            as in the checkpoint: `"first_token"` if it has BERT's pooler,
            else no pooled output.
        **changes: `dropout` or `attention_dropout`, to replace the rates in
            the checkpoint.

    Returns:
        A model as `encoder` makes it.

    Warns:
        UserWarning: If a pooler starts from random weights, or weights of the
            checkpoint stay unused.

    Raises:
        ValueError: If the checkpoint is of no known family, or its tensors are
            not exactly those that its configuration asks for.
    """
    return hugging_face.load_encoder(resolve(source), pooling, changes)


def load_model(source: str | os.PathLike, **changes: Any) -> keras.Model:
    """Loads a checkpoint with its own head.

    Args:
        source: As in `load_encoder`.
        **changes: As in `load_encoder`.

    Returns:
        What the builder of the task returns: for
        `BertForSequenceClassification` a `text_classifier` with the
        checkpoint's label names, and so on; for a directory of
        sentence-transformers a `sentence_encoder`; an encoder if there is no
        head.

    Warns:
        UserWarning: If weights of the checkpoint stay unused.

    Raises:
        ValueError: As `load_encoder`; or if the head is of an unknown kind.
    """
    directory = resolve(source)
    if sentence_transformers.is_sentence_transformers(directory):
        return sentence_transformers.load_model(directory, changes)
    return hugging_face.load_model(directory, changes)
