"""Resolving sources: directories, Hub names and checkpoints in this package."""

import os
from pathlib import Path
from typing import Any

from keras_bert_lite._json import parse_json

# A directory, or the name of a KerasHub preset.
Source = str | Path

HUB_PREFIX = "hf://"
KERAS_HUB_PREFIX = "keras-hub://"
# In a checkout this is a link, and its target may hold exports too.
SHIPPED = Path(__file__).parents[1] / "saved_models"
SHIPPED_NAMES = ("bert_mini_books",)
# No pickles and no weights of other frameworks are downloaded.
HUB_FILES = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*.model"]


def resolve(source: str | os.PathLike, argument: str = "source") -> Source:
    """Returns the directory of a source, downloading it if necessary.

    Args:
        source: A local directory, `hf://owner/name`, or one of `SHIPPED_NAMES` (a
            local directory of that name takes precedence). A `keras-hub://preset`
            is returned unchanged, because KerasHub downloads it.
        argument: What errors call it.

    Raises:
        ValueError: If the source is none of these, or cannot be downloaded.
    """
    text = os.fspath(source)
    if text.startswith(HUB_PREFIX):
        return _download(text.removeprefix(HUB_PREFIX), argument)
    if text.startswith(KERAS_HUB_PREFIX):
        return text
    if "://" in text:
        raise ValueError(
            f"`{argument}` must be a directory or hf://owner/name. Received: {text!r}"
        )
    if os.path.isdir(text):  # `Path.is_dir` raises if the name is too long
        return Path(text)
    if text in SHIPPED_NAMES:
        return SHIPPED / text
    raise ValueError(
        f"`{argument}` must be a directory with config.json and model.safetensors, "
        f"hf://owner/name, or {', '.join(SHIPPED_NAMES)}. Received: {text!r}, which is "
        "not a directory"
    )


def _download(name: str, argument: str) -> Path:
    import huggingface_hub  # imported here because it is slow and rarely needed
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=HUB_FILES))
    except HFValidationError as error:
        raise ValueError(f"`{argument}` is not hf://owner/name: {error}") from error
    except Exception as error:  # the HTTP client depends on the version
        raise ValueError(
            f"hf://{name} could not be downloaded and is not in the cache: "
            f"{type(error).__name__}: {error}"
        ) from error


def is_name(name: Any) -> bool:
    """Returns whether a value is a plain file name, without any path."""
    return (
        isinstance(name, str)
        and bool(name)
        and Path(name).name == name
        and ("\\" not in name)
    )


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        ValueError: If the file is missing, does not hold a JSON object, or an object
            in it has a key twice.
    """
    value = read_json_value(path)
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold a JSON object. Received: {type(value)}")
    return value


def read_json_value(path: Path) -> Any:
    """Reads a JSON file of any type; see `read_json`."""
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error
