"""The `added_tokens` of tokenizer.json: found in text before anything else."""

from pathlib import Path
from typing import Any, NamedTuple

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


class AddedTokens(NamedTuple):
    """All added tokens with their ids, and those that any text may hold."""

    ids: dict[str, int]
    plain: list[str]


def read(content: dict[str, Any], path: Path) -> AddedTokens:
    """Returns the added tokens of tokenizer.json.

    Special tokens are plain text unless the tokenizer is asked to find them;
    the others are found in any text.

    Raises:
        ValueError: If one is no object with `id` and `content`, or one that is
            not special has a flag that changes where it is found.
    """
    tokens = content.get("added_tokens") or []
    try:
        ids = {token["content"]: token["id"] for token in tokens}
        plain = [token for token in tokens if not token.get("special")]
        good = all(isinstance(x, str) and type(i) is int for x, i in ids.items())
    except (TypeError, KeyError, AttributeError):
        good = False
    if not good:
        raise ValueError(
            f"{path}: `added_tokens` must be objects with `id` and `content`. "
            f"Received: {tokens!r:.200}"
        )
    for token in plain:
        flags = [flag for flag in FLAGS if token.get(flag)]
        if flags:
            raise ValueError(
                f"{path}: of `added_tokens`, {token['content']!r} must not have the "
                f"flags {FLAGS}. Received: {flags}"
            )
    return AddedTokens(ids, [token["content"] for token in plain])


def entry(id: int, content: str, special: bool, lstrip: bool = False) -> dict[str, Any]:
    """Returns an entry of `added_tokens`."""
    flags = {**dict.fromkeys(FLAGS, False), "lstrip": lstrip}
    return {"id": id, "content": content, **flags, "special": special}
