"""The `added_tokens` of tokenizer.json, which are matched before tokenization."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.text.added_tokens import FLAGS
from keras_bert_lite.text.base_tokenizer import Tokenizer

ENTRY_KEYS = Keys(("id", "content", "special", *FLAGS))


class AddedTokens(NamedTuple):
    """The tokens of tokenizer.json in addition to the model's pieces."""

    ids: dict[str, int]
    plain: list[str]  # matched in any text
    arguments: dict[str, Any]  # shared by all kinds of tokenizers


def read(
    content: dict[str, Any], path: Path, refused: tuple[str, ...] = FLAGS
) -> AddedTokens:
    """Returns the added tokens of tokenizer.json.

    Special tokens are treated as plain text unless the tokenizer is told to match
    them. The other added tokens are matched in any text.

    Args:
        content: The content of tokenizer.json.
        path: The file, for error messages.
        refused: Flags that tokens other than special tokens must not have.

    Raises:
        ValueError: If a token is not an object with `id`, `content` and boolean
            flags, or has a refused flag.
    """
    tokens = content.get("added_tokens") or []
    if not isinstance(tokens, list) or not all(map(_is_entry, tokens)):
        raise ValueError(
            f"{path}: `added_tokens` must be objects with `id`, `content` and flags. "
            f"Received: {tokens!r:.200}"
        )
    for token in tokens:
        ENTRY_KEYS.check(token, f"{path}, `added_tokens`")
        found = [flag for flag in refused if token.get(flag)]
        if found and not token.get("special"):
            raise ValueError(
                f"{path}: in `added_tokens`, {token['content']!r} must not have the "
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
    """Returns the `added_tokens` entry of tokenizer.json, sorted by id.

    Args:
        tokenizer: The tokenizer; its special tokens are included.
        plain: The tokens that it matches in any text.
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
