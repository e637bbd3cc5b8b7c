"""The formats of checkpoints. A new one is a folder with a `loading.py`, and a line."""

from pathlib import Path
from typing import Any, Protocol

import keras

from keras_bert_lite.checkpoints.google import loading as google
from keras_bert_lite.checkpoints.hugging_face import (
    loading as hugging_face,
    sentence_transformers,
)
from keras_bert_lite.checkpoints.keras_hub import loading as keras_hub
from keras_bert_lite.checkpoints.saved_model import loading as saved_model
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor


class Format(Protocol):
    """What a format's module has. `source` is what `sources.resolve` returns.

    Directories share the tokenizers' files: `tokenizers.loading` reads them.
    """

    def detect(self, source: Any) -> bool:
        """Whether a source is of this format."""

    def load_encoder(
        self, source: Any, pooling: str | None, changes: dict[str, Any]
    ) -> keras.Model:
        """See `load.load_encoder`."""

    def load_model(self, source: Any, changes: dict[str, Any]) -> keras.Model:
        """See `load.load_model`."""

    def load_tokenizer(self, source: Any, changes: dict[str, Any]) -> Tokenizer:
        """See `load.load_tokenizer`."""

    def load_preprocessor(self, source: Any, changes: dict[str, Any]) -> Preprocessor:
        """See `load.load_preprocessor`."""


# The first that detects a source reads it. What none detects is read as Hugging
# Face's: a directory may have a tokenizer alone, and its errors say what is missing.
FORMATS: tuple[Format, ...] = (
    keras_hub,
    sentence_transformers,
    hugging_face,
    saved_model,
    google,
)


def format_of(source: str | Path) -> Format:
    """Returns the format of a source."""
    return next((x for x in FORMATS if x.detect(source)), hugging_face)
