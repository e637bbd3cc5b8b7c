"""The parts of tokenizer.json that differ between unigram tokenizers."""

import json
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.tokenizers import added_tokens
from keras_bert_lite.checkpoints.tokenizers.post_processor import ends
from keras_bert_lite.checkpoints.tokenizers.sections import parts

_QUOTES = [
    {"type": "Replace", "pattern": {"String": pair}, "content": '"'}
    for pair in ("``", "''")
]
_SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
# Some writers insert the metaspace already here; the result is the same.
_METASPACES = {**_SPACES, "content": "▁"}
_WHITE_SPACE = {
    "type": "Replace",
    "pattern": {"Regex": r"\s{2,}|[\n\r\t]"},
    "content": " ",
}
_STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
_STRIP_RIGHT = {"type": "Strip", "strip_left": False, "strip_right": True}
# Our normalization steps and the parts of tokenizer.json that express them.
_PARTS: list[tuple[str, list[dict[str, Any]]]] = [
    ("quotes", _QUOTES),
    ("lowercase", [{"type": "Lowercase"}]),
    ("strip_accents", [{"type": "NFKD"}, {"type": "StripAccents"}]),
    ("nfc", [{"type": "NFC"}]),
    ("collapse_spaces", [_SPACES]),
    ("collapse_spaces", [_METASPACES]),
    ("collapse_white_space", [_WHITE_SPACE]),
    ("strip", [_STRIP]),
    ("strip_right", [_STRIP_RIGHT]),
]


def read_normalizer(part: Any, path: Path) -> dict[str, Any]:
    """Returns the arguments `normalization` and `charsmap`."""
    left = parts(part, "normalizer", path)
    steps: list[str] = []
    charsmap = ""
    while left:
        if left[0].get("type") == "Precompiled":
            charsmap = left[0].get("precompiled_charsmap") or ""
            if not isinstance(charsmap, str):
                raise _unknown(path, "normalizer", left[0])
            del left[0]
            steps += ["charsmap"] if charsmap else []
            continue
        for step, written in _PARTS:
            if left[: len(written)] == written:
                steps.append(step)
                del left[: len(written)]
                break
        else:
            raise _unknown(path, "normalizer", left[0])
    return {"normalization": steps, "charsmap": charsmap}


def read_pre_tokenizer(part: Any, path: Path) -> dict[str, Any]:
    """Returns the arguments `split_white_space` and `split_punctuation`."""
    found = parts(part, "pre_tokenizer", path)
    split = {"type": "WhitespaceSplit"} in found
    isolated = {"type": "Punctuation", "behavior": "Isolated"}
    punctuation = isolated in found
    rest = [x for x in found if x not in ({"type": "WhitespaceSplit"}, isolated)]
    if not rest or not _is_metaspace(rest[0]):
        raise _unknown(path, "pre_tokenizer", rest[0] if rest else part)
    if len(rest) > 1 or found[-1] != rest[0] or (split and found[0] == isolated):
        raise _unknown(path, "pre_tokenizer", part)
    return {"split_white_space": split, "split_punctuation": punctuation}


def read_special_tokens(
    content: dict[str, Any], vocabulary: list[str], path: Path
) -> dict[str, Any]:
    """Returns the arguments for special tokens and `added_tokens`."""
    added = added_tokens.read(content, path)
    tokens: dict[str, Any] = {"added_tokens": added.plain, **added.arguments}
    tokens |= ends(content.get("post_processor"), path)
    for role, names in (("pad", ("<pad>", "[PAD]")), ("mask", ("<mask>", "[MASK]"))):
        tokens |= {f"{role}_token": name for name in names if name in vocabulary}
    return tokens


def _is_metaspace(part: dict[str, Any]) -> bool:
    return (
        part.get("type") == "Metaspace"
        and part.get("replacement") == "▁"
        and part.get("prepend_scheme", "always") == "always"
        and part.get("add_prefix_space", True)
        and part.get("split", True)
    )


def _unknown(path: Path, name: str, part: Any) -> ValueError:
    return ValueError(
        f"{path}: `{name}` has a part that SentencePieceTokenizer lacks. "
        f"Received: {json.dumps(part, ensure_ascii=False)[:200]}"
    )


def normalizer_json(steps: list[str], charsmap: str) -> dict[str, Any] | None:
    written: dict[str, list[dict[str, Any]]] = dict(reversed(_PARTS))
    written["charsmap"] = [{"type": "Precompiled", "precompiled_charsmap": charsmap}]
    found = [part for step in steps for part in written[step]]
    return {"type": "Sequence", "normalizers": found} if found else None


def pre_tokenizer_json(
    config: dict[str, Any], metaspace: dict[str, Any]
) -> dict[str, Any]:
    splits: list[dict[str, Any]] = []
    if config["split_white_space"]:
        splits.append({"type": "WhitespaceSplit"})
    if config["split_punctuation"]:
        splits.append({"type": "Punctuation", "behavior": "Isolated"})
    return {"type": "Sequence", "pretokenizers": [*splits, metaspace]}
