"""The checkpoint formats.

To add one, write a module with the functions of `Format` (`loading.py` in a folder of
its own), import it here and list it in `FORMATS`, before any format that would also
detect its sources; `load.py` and the public `load_*` functions then take it. Formats
get a directory, or a KerasHub preset: `sources.resolve` downloads `hf://` names (only
the files in its `HUB_FILES`) and refuses other names. Saving has no protocol:
`save_hugging_face` and `to_keras_hub` write models.
"""

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
    """The interface of a format's `loading` module.

    `source` is the value of `sources.resolve`. All directory formats read their
    tokenizer files with `tokenizers.loading`.
    """

    def detect(self, source: Any) -> bool:
        """Returns whether a source has this format."""

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


# The first format that detects a source reads it. The fallback is Hugging Face: a
# directory may hold only a tokenizer, and its errors name the missing files.
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
