"""KerasHub's presets: names of published models, and directories."""

import os
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.sources import read_json

TASKS = ("TextClassifier", "MaskedLM")
# What KerasHub raises for a preset that is not there, or not what it should be.
_ERRORS = (OSError, ValueError, TypeError, KeyError, RuntimeError)


def load_preset(preset: str | os.PathLike, with_head: bool = False) -> Any:
    """Loads a model of KerasHub's.

    Args:
        preset: A name such as `"bert_tiny_en_uncased"`, a handle as KerasHub
            takes them, or a directory that `save_to_preset` has written.
        with_head: Whether to load the `TextClassifier` or `MaskedLM` that the
            preset is of, rather than the backbone alone.

    Returns:
        A KerasHub `Backbone`, `TextClassifier` or `MaskedLM`.

    Raises:
        ValueError: If there is no such preset, it cannot be downloaded, or it
            has no head.
    """
    import keras_hub

    name = os.fspath(preset)
    kind = _task_of(Path(name)) if with_head else "Backbone"
    try:
        return getattr(keras_hub.models, kind).from_preset(name)
    except _ERRORS as error:
        raise ValueError(
            f"KerasHub could not load a {kind} from the preset {name!r}: {error}"
        ) from error


def _task_of(directory: Path) -> str:
    """The kind of task that a preset is of; one with a name is a classifier."""
    if not directory.is_dir():
        return "TextClassifier"
    path = directory / "task.json"
    registered = read_json(path).get("registered_name") if path.exists() else None
    for task in TASKS:
        if str(registered).endswith(task):
            return task
    raise ValueError(
        f"The preset must have a head, one of {TASKS}. Received: {str(directory)!r}, "
        f"which has {registered}"
    )


def load_tokenizer_preset(preset: str | os.PathLike) -> Any:
    """Loads the tokenizer of a preset.

    Args:
        preset: As in `load_preset`.

    Returns:
        A KerasHub `Tokenizer`.

    Raises:
        ValueError: If there is no such preset, it cannot be downloaded, or it
            has no tokenizer.
    """
    import keras_hub

    name = os.fspath(preset)
    try:
        return keras_hub.tokenizers.Tokenizer.from_preset(name)
    except _ERRORS as error:
        raise ValueError(
            f"KerasHub could not load a tokenizer from the preset {name!r}: {error}"
        ) from error
