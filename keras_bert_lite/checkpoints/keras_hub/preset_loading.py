"""Loading KerasHub presets: names of published models, or directories."""

import inspect
import os
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.hugging_face.config import (
    CONFIG,
    read_config as read_hugging_face_config,
    read_family,
)
from keras_bert_lite.checkpoints.keras_hub.config import read_config
from keras_bert_lite.checkpoints.keras_hub.families import HUB_FAMILIES
from keras_bert_lite.checkpoints.sources import read_json

TASK = "task.json"
TASKS = ("TextClassifier", "MaskedLM")
# Raised by KerasHub for a missing or malformed preset.
_ERRORS = (OSError, ValueError, TypeError, KeyError, RuntimeError)


def load_preset(preset: str | os.PathLike, with_head: bool = False) -> Any:
    """Loads a KerasHub model.

    Args:
        preset: A name such as `"bert_tiny_en_uncased"`, a handle that KerasHub
            accepts, or a directory written by `save_to_preset`.
        with_head: Whether to load the preset's `TextClassifier` or `MaskedLM`
            instead of the backbone alone.

    Returns:
        A KerasHub `Backbone`, `TextClassifier` or `MaskedLM`.

    Raises:
        ValueError: If the preset does not exist, cannot be downloaded or lacks
            the head, or if the sizes in a directory require far more weights
            than are stored there.
    """
    import keras_hub

    name = os.fspath(preset)
    kind = _task_of(Path(name)) if with_head else "Backbone"
    if os.path.isdir(name):
        _check_directory(Path(name), with_head)
    try:
        return getattr(keras_hub.models, kind).from_preset(name)
    except _ERRORS as error:
        raise ValueError(
            f"KerasHub could not load a {kind} from the preset {name!r}: {error}"
        ) from error


def _task_of(directory: Path) -> str:
    """Returns the task of a preset; for a name it is always `TextClassifier`."""
    if not directory.is_dir():
        return "TextClassifier"
    path = directory / TASK
    registered = read_json(path).get("registered_name") if path.exists() else None
    for task in TASKS:
        if str(registered).endswith(task):
            return task
    raise ValueError(
        f"The preset must have a head, one of {TASKS}. Received: {str(directory)!r}, "
        f"which has {registered}"
    )


def _check_directory(directory: Path, with_head: bool) -> None:
    """Checks sizes in advance: KerasHub builds a model before it reads the weights."""
    raw = read_json(directory / CONFIG)
    if "registered_name" not in raw:  # Hugging Face layout, which KerasHub converts
        _, raw = read_family(directory)
        read_hugging_face_config(directory, raw, None, {})
        return
    _check_sizes(directory / CONFIG, raw)
    if with_head and (directory / TASK).exists():
        head = read_json(directory / TASK).get("config")
        backbone = head.get("backbone") if isinstance(head, dict) else None
        if isinstance(head, dict) and isinstance(backbone, dict):
            outputs = {name: head.get(name) for name in ("num_classes", "hidden_dim")}
            _check_sizes(directory / TASK, backbone, outputs)


def _check_sizes(
    path: Path, backbone: dict[str, Any], outputs: dict[str, Any] | None = None
) -> None:
    import keras_hub

    class_name = str(backbone.get("registered_name")).rsplit(">", 1)[-1]
    classes = {f"{row.prefix}Backbone": family for family, row in HUB_FAMILIES.items()}
    if class_name not in classes:
        raise ValueError(
            f"{path} must be the config of one of KerasHub's {list(classes)}. "
            f"Received: {class_name}"
        )
    arguments = inspect.signature(getattr(keras_hub.models, class_name).__init__)
    defaults = {
        x.name: x.default
        for x in arguments.parameters.values()
        if x.default is not x.empty
    }
    stored = sum(x.stat().st_size for x in path.parent.glob("*.h5"))
    try:
        raw = {**defaults, **backbone["config"]}
        read_config(classes[class_name], raw, stored, outputs or {})
    except KeyError as error:
        raise ValueError(f"{path}: the field {error} is missing.") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def load_tokenizer_preset(preset: str | os.PathLike) -> Any:
    """Loads the tokenizer of a preset.

    Args:
        preset: As in `load_preset`.

    Returns:
        A KerasHub `Tokenizer`.

    Raises:
        ValueError: If the preset does not exist, cannot be downloaded or has no
            tokenizer.
    """
    import keras_hub

    name = os.fspath(preset)
    try:
        return keras_hub.tokenizers.Tokenizer.from_preset(name)
    except _ERRORS as error:
        raise ValueError(
            f"KerasHub could not load a tokenizer from the preset {name!r}: {error}"
        ) from error
