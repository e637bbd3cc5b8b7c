"""Encoders and models from any source."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.google import loading as google
from keras_bert_lite.checkpoints.hugging_face import (
    loading as hugging_face,
    sentence_transformers,
)
from keras_bert_lite.checkpoints.keras_hub import (
    exchange as keras_hub,
    presets as keras_hub_presets,
)
from keras_bert_lite.checkpoints.saved_model import loading as saved_model_weights
from keras_bert_lite.checkpoints.sources import KERAS_HUB_PREFIX, resolve
from keras_bert_lite.layers.base import undrawn


def load_encoder(
    source: str | os.PathLike, pooling: str | None = "checkpoint", **changes: Any
) -> keras.Model:
    """Loads the encoder of a checkpoint, of any family.

    Args:
        source: A directory: in Hugging Face layout (config.json and
            model.safetensors, in one file or in shards), of
            sentence-transformers, with a TF1 checkpoint of Google's, or a
            SavedModel of an encoder, as TF Hub has them; or `hf://owner/name`;
            or `keras-hub://preset`; or `bert_mini_books`, which comes with
            this package.
        pooling: How `pooled_output` is made; see `EncoderConfig`. By default
            as in the checkpoint: `"cls_dense"` if it has BERT's pooler,
            else no pooled output.
        **changes: `dropout` or `attention_dropout`, to replace the rates in
            the checkpoint.

    Returns:
        A model as `encoder` makes it.

    Warns:
        UserWarning: If a pooler starts from random weights, weights of the
            checkpoint stay unused, or some have NaN or infinite numbers.

    Raises:
        ValueError: If the checkpoint is of no known family, or its tensors are
            not exactly those that its configuration asks for.
    """
    if os.fspath(source).startswith(KERAS_HUB_PREFIX):
        _check_as_stored(pooling, changes)
        return keras_hub.from_keras_hub(keras_hub_presets.load_preset(_preset(source)))
    directory = resolve(source)
    with undrawn():
        return _format(directory).load_encoder(directory, pooling, changes)


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
        UserWarning: If weights of the checkpoint stay unused, or some have NaN
            or infinite numbers.

    Raises:
        ValueError: As `load_encoder`; or if the head is of an unknown kind.
    """
    if os.fspath(source).startswith(KERAS_HUB_PREFIX):
        _check_as_stored("checkpoint", changes)
        preset = keras_hub_presets.load_preset(_preset(source), with_head=True)
        return keras_hub.from_keras_hub(preset)
    directory = resolve(source)
    with undrawn():
        if sentence_transformers.is_sentence_transformers(directory):
            return sentence_transformers.load_model(directory, changes)
        kind = _format(directory)
        if kind is saved_model_weights:
            return kind.load_encoder(directory, "checkpoint", changes)
        return kind.load_model(directory, changes)


def _format(directory: Path) -> Any:
    """Returns the module that reads a directory."""
    formats: list[tuple[Callable[[Path], bool], Any]] = [
        (saved_model_weights.is_saved_model, saved_model_weights),
        (google.is_google, google),
    ]
    if any(directory.glob("model.safetensors*")):
        return hugging_face
    for is_kind, kind in formats:
        if is_kind(directory):
            return kind
    return hugging_face


def _preset(source: str | os.PathLike) -> str:
    return os.fspath(source).removeprefix(KERAS_HUB_PREFIX)


def _check_as_stored(pooling: str | None, changes: dict[str, Any]) -> None:
    if pooling != "checkpoint" or changes:
        raise ValueError(
            "A KerasHub preset is loaded as it is. "
            f"Received: pooling={pooling!r}, {changes}"
        )
