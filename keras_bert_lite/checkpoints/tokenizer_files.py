"""Tokenizers from the files that checkpoints have."""

import os
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.sources import read_json, resolve
from keras_bert_lite.text.packing import Preprocessor
from keras_bert_lite.text.wordpiece import WordPieceTokenizer, read_vocabulary

SPECIAL_TOKENS = {
    "unk_token": "unknown_token",
    "cls_token": "cls_token",
    "sep_token": "sep_token",
    "pad_token": "pad_token",
    "mask_token": "mask_token",
}
# What tokenizer_config.json says overrides tokenizer.json, as in transformers.
SWITCHES = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "split_cjk",
}
# The parts of tokenizer.json that must be as BERT has them.
REQUIRED = {
    ("model", "type"): "WordPiece",
    ("model", "continuing_subword_prefix"): "##",
    ("normalizer", "type"): "BertNormalizer",
    ("normalizer", "clean_text"): True,
    ("pre_tokenizer", "type"): "BertPreTokenizer",
}


def load_tokenizer(source: str | os.PathLike, **changes: Any) -> WordPieceTokenizer:
    """Loads the tokenizer of a BERT checkpoint.

    Args:
        source: A directory with tokenizer.json or vocab.txt (the first is
            preferred), or `hf://owner/name`.
        **changes: Arguments of `WordPieceTokenizer` to replace, such as
            `special_tokens_in_text=True`.

    Raises:
        ValueError: If the files describe another kind of tokenizer.
    """
    directory = resolve(source)
    if (directory / "tokenizer.json").is_file():
        arguments = _from_tokenizer_json(directory / "tokenizer.json")
    elif (directory / "vocab.txt").is_file():
        arguments = {"vocabulary": read_vocabulary(directory / "vocab.txt")}
    else:
        raise ValueError(f"{directory} has neither tokenizer.json nor vocab.txt.")
    return WordPieceTokenizer(**{**arguments, **_from_config(directory), **changes})


def load_preprocessor(source: str | os.PathLike, **changes: Any) -> Preprocessor:
    """Loads the tokenizer of a BERT checkpoint and the length it was made for.

    The length is sentence-transformers' `max_seq_length` where there is one,
    else the tokenizer's `model_max_length`, capped by the position table. The
    truncation and padding that tokenizer.json may hold are ignored.

    Args:
        source: A directory, or `hf://owner/name`.
        **changes: Arguments of `Preprocessor` to replace, such as
            `sequence_length` or `padding`.
    """
    directory = resolve(source)
    arguments = {"sequence_length": _sequence_length(directory), **changes}
    return Preprocessor(load_tokenizer(directory), **arguments)


def _from_tokenizer_json(path: Path) -> dict[str, Any]:
    content = read_json(path)
    for (part, key), expected in REQUIRED.items():
        section = content.get(part)
        if not isinstance(section, dict) or not section:
            raise ValueError(
                f"{path}: `{part}` must be an object. Received: {section!r}"
            )
        if section.get(key, expected) != expected:
            raise ValueError(
                f"{path}: `{part}.{key}` must be {expected!r}. "
                f"Received: {section[key]!r}"
            )
    model, normalizer = content["model"], content["normalizer"]
    return {
        "vocabulary": _in_order(model.get("vocab"), path),
        "unknown_token": model.get("unk_token", "[UNK]"),
        "max_characters_per_word": model.get("max_input_chars_per_word", 100),
        "lowercase": normalizer.get("lowercase", True),
        "strip_accents": normalizer.get("strip_accents"),
        "split_cjk": normalizer.get("handle_chinese_chars", True),
    }


def _in_order(ids: Any, path: Path) -> list[str]:
    if not isinstance(ids, dict) or not ids:
        raise ValueError(f"{path}: `model.vocab` must map pieces to ids.")
    if set(ids.values()) != set(range(len(ids))):
        raise ValueError(f"{path}: the ids of `model.vocab` must be 0 to n - 1.")
    return sorted(ids, key=ids.__getitem__)


def _from_config(directory: Path) -> dict[str, Any]:
    path = directory / "tokenizer_config.json"
    if not path.is_file():
        return {}
    config = read_json(path)
    switches = {
        ours: config[theirs] for theirs, ours in SWITCHES.items() if theirs in config
    }
    tokens = {
        ours: config[theirs]
        for theirs, ours in SPECIAL_TOKENS.items()
        if config.get(theirs) is not None
    }
    return switches | {
        name: token["content"] if isinstance(token, dict) else token
        for name, token in tokens.items()
    }


def _sequence_length(directory: Path) -> int:
    def limit(name: str, key: str) -> float | None:
        path = directory / name
        return read_json(path).get(key) if path.is_file() else None

    rows = limit("config.json", "max_position_embeddings") or 512
    own = limit("sentence_bert_config.json", "max_seq_length")
    tokenizers = limit("tokenizer_config.json", "model_max_length")
    return int(min(rows, own or tokenizers or rows))
