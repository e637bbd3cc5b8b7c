"""Loading KerasHub presets: `keras-hub://bert_tiny_en_uncased`, or a directory."""

import os
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face.config import CONFIG
from keras_bert_lite.checkpoints.keras_hub.exchange import from_keras_hub
from keras_bert_lite.checkpoints.keras_hub.preset_loading import (
    load_preset,
    load_tokenizer_preset,
)
from keras_bert_lite.checkpoints.keras_hub.tokenizers import tokenizer_from_keras_hub
from keras_bert_lite.checkpoints.sources import KERAS_HUB_PREFIX, Source, read_json
from keras_bert_lite.checkpoints.tokenizers.loading import split_changes
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor


def detect(source: Source) -> bool:
    """Returns whether a source is a KerasHub preset: its name, or its directory."""
    if isinstance(source, Path):
        path = source / CONFIG
        return path.is_file() and "registered_name" in read_json(path)
    return source.startswith(KERAS_HUB_PREFIX)


def load_encoder(
    source: Source, pooling: str | None, changes: dict[str, Any]
) -> keras.Model:
    """Loads the backbone of a preset; see `load.load_encoder`."""
    if pooling != "checkpoint":
        changes = {"pooling": pooling, **changes}
    _refuse(changes)
    return from_keras_hub(load_preset(_name(source)))


def load_model(source: Source, changes: dict[str, Any]) -> keras.Model:
    """Loads the model of a preset with its head; see `load.load_model`."""
    _refuse(changes)
    return from_keras_hub(load_preset(_name(source), with_head=True))


def load_tokenizer(source: Source, changes: dict[str, Any]) -> Tokenizer:
    """Loads the tokenizer of a preset; see `load.load_tokenizer`."""
    tokenizer = tokenizer_from_keras_hub(load_tokenizer_preset(_name(source)))
    if not changes:
        return tokenizer
    try:
        return type(tokenizer)(**{**tokenizer.get_config(), **changes})
    except (TypeError, ValueError) as error:
        raise ValueError(f"The tokenizer of {source}: {error}") from error


def load_preprocessor(source: Source, changes: dict[str, Any]) -> Preprocessor:
    """Loads the tokenizer of a preset; `sequence_length` is required."""
    if "sequence_length" not in changes:
        raise ValueError(
            "A KerasHub preset's tokenizer has no length: `sequence_length` must "
            f"be given. Received: {source!r} and {changes}"
        )
    options, tokenizer_options = split_changes(changes)
    return Preprocessor(load_tokenizer(source, tokenizer_options), **options)


def _name(source: Source) -> str:
    return os.fspath(source).removeprefix(KERAS_HUB_PREFIX)


def _refuse(changes: dict[str, Any]) -> None:
    if changes:
        raise ValueError(f"A KerasHub preset takes no changes. Received: {changes}")
