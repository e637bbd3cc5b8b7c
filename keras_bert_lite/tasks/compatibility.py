"""Checks that a preprocessor fits a model."""

import keras

from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.tasks.task import options_of
from keras_bert_lite.text.preprocessor import Preprocessor


def check_fits(model: keras.Model, preprocessor: Preprocessor, role: str) -> None:
    """Checks that a model has embeddings for every position and id it may receive.

    Args:
        model: An encoder, or a model that contains one.
        preprocessor: The preprocessor that makes its inputs.
        role: The model's name in error messages.

    Raises:
        ValueError: If sequences may be too long for the model, or the vocabulary
            is too large.
    """
    embeddings, blocks, _ = encoder_layers(encoder_of(model))
    # Rotary positions have no table, but a length that they were trained for.
    sizes = embeddings if blocks.config is None else blocks.config
    length, rows = preprocessor.sequence_length, sizes.max_sequence_length
    if rows is not None and (length is None or length > rows):
        raise ValueError(
            f"`{role}` must have a position for every token of a row. Received: "
            f"max_sequence_length={rows}, and a preprocessor with "
            f"sequence_length={length}"
        )
    skipped = options_of(model).get("prompt_length", 0)
    if skipped and (
        skipped != preprocessor.prompt_length
        or (length is not None and length <= skipped)
    ):
        raise ValueError(
            f"`{role}` leaves the {skipped} tokens of a prompt out of its pooling, so "
            "the preprocessor must have that prompt, and more room. "
            f"Received: one of {preprocessor.prompt_length} tokens, "
            f"sequence_length={length}"
        )
    pieces = preprocessor.tokenizer.vocabulary_size()
    if pieces > embeddings.vocabulary_size:
        raise ValueError(
            f"`{role}` must have an embedding for every piece of the preprocessor's "
            f"tokenizer. Received: {embeddings.vocabulary_size} and {pieces}"
        )
