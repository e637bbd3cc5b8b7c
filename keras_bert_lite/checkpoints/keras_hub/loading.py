"""Loading KerasHub presets by name: `keras-hub://bert_tiny_en_uncased`."""

from typing import Any

import keras

from keras_bert_lite.checkpoints.keras_hub.exchange import from_keras_hub
from keras_bert_lite.checkpoints.keras_hub.preset_loading import (
    load_preset,
    load_tokenizer_preset,
)
from keras_bert_lite.checkpoints.keras_hub.tokenizers import tokenizer_from_keras_hub
from keras_bert_lite.checkpoints.sources import KERAS_HUB_PREFIX, Source
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor


def detect(source: Source) -> bool:
    """Returns whether a source is the name of a KerasHub preset."""
    return isinstance(source, str) and source.startswith(KERAS_HUB_PREFIX)


def load_encoder(
    source: str, pooling: str | None, changes: dict[str, Any]
) -> keras.Model:
    """Loads the backbone of a preset; see `load.load_encoder`."""
    if pooling != "checkpoint":
        changes = {"pooling": pooling, **changes}
    _refuse(changes)
    return from_keras_hub(load_preset(_name(source)))


def load_model(source: str, changes: dict[str, Any]) -> keras.Model:
    """Loads the model of a preset with its head; see `load.load_model`."""
    _refuse(changes)
    return from_keras_hub(load_preset(_name(source), with_head=True))


def load_tokenizer(source: str, changes: dict[str, Any]) -> Tokenizer:
    """Loads the tokenizer of a preset; see `load.load_tokenizer`."""
    _refuse(changes)
    return tokenizer_from_keras_hub(load_tokenizer_preset(_name(source)))


def load_preprocessor(source: str, changes: dict[str, Any]) -> Preprocessor:
    """Loads the tokenizer of a preset; `sequence_length` is required."""
    if "sequence_length" not in changes:
        raise ValueError(
            "A KerasHub preset's tokenizer has no length: `sequence_length` must "
            f"be given. Received: {source!r} and {changes}"
        )
    return Preprocessor(load_tokenizer(source, {}), **changes)


def _name(source: str) -> str:
    return source.removeprefix(KERAS_HUB_PREFIX)


def _refuse(changes: dict[str, Any]) -> None:
    if changes:
        raise ValueError(f"A KerasHub preset takes no changes. Received: {changes}")
