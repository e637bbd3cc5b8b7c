"""The `added_tokens` of tokenizer.json: found in text before anything else."""

from pathlib import Path
from typing import Any, NamedTuple

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


class AddedTokens(NamedTuple):
    """All added tokens with their ids, and those that any text may hold."""

    ids: dict[str, int]
    plain: list[str]


def read(
    content: dict[str, Any], path: Path, flags: tuple[str, ...] = FLAGS
) -> AddedTokens:
    """Returns the added tokens of tokenizer.json.

    Special tokens are plain text unless the tokenizer is asked to find them;
    the others are found in any text.

    Args:
        content: What tokenizer.json holds.
        path: The file, for messages.
        flags: Those that change where the tokenizer finds a token.

    Raises:
        ValueError: If one is no object with `id` and `content`, or one that is
            not special has one of the flags.
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
        found = [flag for flag in flags if token.get(flag)]
        if found:
            raise ValueError(
                f"{path}: of `added_tokens`, {token['content']!r} must not have the "
                f"flags {flags}. Received: {found}"
            )
    return AddedTokens(ids, [token["content"] for token in plain])


def entry(id: int, content: str, special: bool, lstrip: bool = False) -> dict[str, Any]:
    """Returns an entry of `added_tokens`."""
    flags = {**dict.fromkeys(FLAGS, False), "lstrip": lstrip}
    return {"id": id, "content": content, **flags, "special": special}
