"""Whether a model and a preprocessor belong together."""

import keras

from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.text.preprocessor import Preprocessor


def check_fits(model: keras.Model, preprocessor: Preprocessor, role: str) -> None:
    """Refuses rows and ids that a model has no embeddings for.

    Args:
        model: An encoder, or a model with one.
        preprocessor: What makes its inputs.
        role: What the model is called.

    Raises:
        ValueError: If rows may be too long, or there are more pieces.
    """
    config = encoder_layers(encoder_of(model))[0].config
    length, rows = preprocessor.sequence_length, config.max_sequence_length
    if rows is not None and (length is None or length > rows):
        raise ValueError(
            f"`{role}` must have a position for every token of a row. Received: "
            f"max_sequence_length={rows}, and a preprocessor with "
            f"sequence_length={length}"
        )
    pieces = preprocessor.tokenizer.vocabulary_size()
    if pieces > config.vocabulary_size:
        raise ValueError(
            f"`{role}` must have an embedding for every piece of the preprocessor's "
            f"tokenizer. Received: {config.vocabulary_size} and {pieces}"
        )
