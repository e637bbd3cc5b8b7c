"""Where a checkpoint lies: a directory, a name on the Hugging Face Hub, or here."""

import json
import os
from pathlib import Path
from typing import Any

# A directory, or the name of a preset that KerasHub finds.
Source = str | Path

HUB_PREFIX = "hf://"
KERAS_HUB_PREFIX = "keras-hub://"
# In a checkout this is a link, and exports may lie there too.
SHIPPED = Path(__file__).parents[1] / "saved_models"
SHIPPED_NAMES = ("bert_mini_books",)
# Nothing else is downloaded: no pickles, no other frameworks' weights.
HUB_FILES = ["*.json", "*.safetensors", "vocab.txt", "merges.txt", "*.model"]


def resolve(source: str | os.PathLike) -> Source:
    """Returns the directory of a source, downloading it if it is a name.

    Args:
        source: A local directory, `hf://owner/name`, or one of `SHIPPED_NAMES` (a
            local directory of that name takes precedence). A `keras-hub://preset`
            stays what it is: KerasHub downloads it.

    Raises:
        ValueError: If the source is none of them, or cannot be downloaded.
    """
    text = os.fspath(source)
    if text.startswith(HUB_PREFIX):
        return _download(text.removeprefix(HUB_PREFIX))
    if text.startswith(KERAS_HUB_PREFIX):
        return text
    if "://" in text:
        raise ValueError(
            f"`source` must be a directory or hf://owner/name. Received: {text!r}"
        )
    if os.path.isdir(text):  # `Path.is_dir` raises where the name is too long
        return Path(text)
    if text in SHIPPED_NAMES:
        return SHIPPED / text
    raise ValueError(
        "`source` must be a directory with config.json and model.safetensors, "
        f"hf://owner/name, or {', '.join(SHIPPED_NAMES)}. Received: {text!r}, which is "
        "not a directory"
    )


def _download(name: str) -> Path:
    import huggingface_hub  # only those who use it pay for its import
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=HUB_FILES))
    except HFValidationError as error:
        raise ValueError(f"`source` is not hf://owner/name: {error}") from error
    except Exception as error:  # its versions have different clients of HTTP
        raise ValueError(
            f"hf://{name} could not be downloaded and is not in the cache: "
            f"{type(error).__name__}: {error}"
        ) from error


def is_name(name: Any) -> bool:
    """Whether a value is a name in a directory, not a path out of it or into it."""
    return (
        isinstance(name, str)
        and bool(name)
        and Path(name).name == name
        and ("\\" not in name)
    )


def read_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        ValueError: If the file is missing, is not JSON, or is no object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold a JSON object. Received: {type(value)}")
    return value
