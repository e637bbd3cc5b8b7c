"""SavedModels that take raw strings."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite.models.text_model import TextModel, answers


def export_saved_model(
    model: TextModel, directory: str | os.PathLike, version: int | None = None
) -> Path:
    """Writes a string-in model as a SavedModel for TF Serving.

    The SavedModel has two signatures: `serving_default` takes `text` (and
    `text_pair`), strings of shape `(B,)`; `token_ids` takes `token_ids`,
    `segment_ids` (int32) and `padding_mask` (bool), `(B, S)` each. Both return
    the model's outputs by name, numbers as float32. Every weight is stored
    once; loading needs `tensorflow` and `tensorflow_text`, nothing else.

    The files are written beside their place and moved there at the end, so a
    server that watches `directory` never sees half a version.

    Args:
        model: A model made by `with_text`.
        directory: The model's directory; the version becomes a folder in it.
        version: A positive number; `None` takes the next free one.

    Returns:
        The path of the new version.

    Raises:
        TypeError: If the model was not made by `with_text`.
        ValueError: If the version is not a positive integer.
        FileExistsError: If the version exists.
    """
    if not isinstance(model, TextModel):
        raise TypeError(
            "`model` must be a string-in model made by `with_text`. "
            f"Received: {model!r}"
        )
    target = _version_path(Path(directory), version)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".export-", dir=target.parent))
    try:
        # Keras's own export tracks, and so stores, each weight twice
        # (keras-team/keras#23553).
        module = tf.Module()
        module.weights = [variable.value for variable in model.variables]
        tf.saved_model.save(module, str(draft), signatures=_signatures(model))
        draft.chmod(0o755)  # a server may run as another user
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def _signatures(model: TextModel) -> dict[str, Any]:
    body = _model_on_ids(model)
    strings = {name: tf.TensorSpec([None], tf.string, name) for name in model.input}
    ids = {
        name: tf.TensorSpec([None, None], x.dtype, name)
        for name, x in body.input.items()
    }

    def from_strings(**inputs):
        return _as_float32(model(inputs, training=False))

    def from_ids(**inputs):
        return _as_float32(answers(body, body(inputs, training=False)))

    return {
        "serving_default": tf.function(from_strings).get_concrete_function(**strings),
        "token_ids": tf.function(from_ids).get_concrete_function(**ids),
    }


def _model_on_ids(model: TextModel) -> keras.Model:
    """Returns what stands between the preprocessor and the answers."""
    return next(layer for layer in model.layers if isinstance(layer, keras.Model))


def _as_float32(outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return {
        name: tf.cast(x, tf.float32) if x.dtype.is_floating else x
        for name, x in _flat(outputs).items()
    }


def _flat(outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Numbers the elements of lists: `hidden_states_0` and so on."""
    flat = {}
    for name, value in outputs.items():
        if isinstance(value, (list, tuple)):
            flat.update({f"{name}_{i}": x for i, x in enumerate(value)})
        else:
            flat[name] = value
    return flat


def _version_path(directory: Path, version: int | None) -> Path:
    if version is None:
        taken = [int(p.name) for p in directory.glob("*") if p.name.isdigit()]
        version = max(taken, default=0) + 1
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError(f"`version` must be a positive integer. Received: {version!r}")
    target = directory / str(version)
    if target.exists():
        raise FileExistsError(
            f"{target} exists. Pass another `version`, or None for the next one."
        )
    return target
