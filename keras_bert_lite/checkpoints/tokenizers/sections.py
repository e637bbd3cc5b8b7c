"""Sections of tokenizer.json that may be a sequence of parts."""

from pathlib import Path
from typing import Any

_PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
}


def parts(section: Any, name: str, path: Path) -> list[dict[str, Any]]:
    """Returns the parts of a section, with sequences expanded.

    Args:
        section: The section, or a part of it.
        name: Its name in tokenizer.json.
        path: The file, for error messages.

    Raises:
        ValueError: If it is neither an object nor a sequence of them.
    """
    if section in (None, {}):
        return []
    return _parts(section, name, path)


def _parts(section: Any, name: str, path: Path) -> list[dict[str, Any]]:
    is_object = isinstance(section, dict)
    if is_object and section.get("type") != "Sequence":
        return [section]
    inner = section.get(_PARTS[name]) if is_object else None
    if not isinstance(inner, list):
        raise ValueError(
            f"{path}: `{name}` must be an object, or a sequence of them. "
            f"Received: {section!r:.200}"
        )
    return [x for one in inner for x in _parts(one, name, path)]
