"""The `added_tokens` of tokenizer.json: found in text before anything else."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert_lite.text.added_tokens import FLAGS
from keras_bert_lite.text.base_tokenizer import Tokenizer


class AddedTokens(NamedTuple):
    """What tokenizer.json says of the tokens beside the model's pieces."""

    ids: dict[str, int]
    plain: list[str]  # found in any text
    arguments: dict[str, Any]  # of every tokenizer


def read(
    content: dict[str, Any], path: Path, refused: tuple[str, ...] = FLAGS
) -> AddedTokens:
    """Returns the added tokens of tokenizer.json.

    Special tokens are plain text unless the tokenizer is asked to find them;
    the others are found in any text.

    Args:
        content: What tokenizer.json holds.
        path: The file, for messages.
        refused: Flags that tokens may not have that are found in any text.

    Raises:
        ValueError: If one is no object with `id` and `content`, and flags that are
            booleans; or has one of the flags that are refused.
    """
    tokens = content.get("added_tokens") or []
    if not isinstance(tokens, list) or not all(map(_is_entry, tokens)):
        raise ValueError(
            f"{path}: `added_tokens` must be objects with `id`, `content` and flags. "
            f"Received: {tokens!r:.200}"
        )
    for token in tokens:
        found = [flag for flag in refused if token.get(flag)]
        if found and not token.get("special"):
            raise ValueError(
                f"{path}: of `added_tokens`, {token['content']!r} must not have the "
                f"flags {refused}. Received: {found}"
            )
    special = [x["content"] for x in tokens if x.get("special")]
    flags = {x["content"]: [flag for flag in FLAGS if x.get(flag)] for x in tokens}
    return AddedTokens(
        {x["content"]: x["id"] for x in tokens},
        [x["content"] for x in tokens if not x.get("special")],
        {
            "additional_special_tokens": special,
            "token_flags": {token: x for token, x in flags.items() if x},
        },
    )


def _is_entry(token: Any) -> bool:
    return (
        isinstance(token, dict)
        and isinstance(token.get("content"), str)
        and token["content"] != ""
        and type(token.get("id")) is int
        and all(isinstance(token.get(x), bool | None) for x in (*FLAGS, "special"))
    )


def entries(tokenizer: Tokenizer, plain: Iterable[str]) -> list[dict[str, Any]]:
    """Returns `added_tokens` as tokenizer.json has them, by their ids.

    Args:
        tokenizer: The tokenizer, whose special tokens are among them.
        plain: The tokens that it finds in any text.
    """
    special = tokenizer.special_tokens
    ids = {x: tokenizer.token_to_id(x) for x in dict.fromkeys([*special, *plain])}
    return [
        {
            "id": ids[token],
            "content": token,
            **{flag: flag in tokenizer.flags_of(token) for flag in FLAGS},
            "special": token in special,
        }
        for token in sorted(ids, key=ids.__getitem__)
    ]
