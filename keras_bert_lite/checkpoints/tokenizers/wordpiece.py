"""Reading and writing the files of WordPiece tokenizers."""

import json
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.checkpoints.tokenizers import added_tokens
from keras_bert_lite.checkpoints.tokenizers.post_processor import template
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer, read_vocabulary

JSON = "tokenizer.json"
VOCABULARY = "vocab.txt"
# As in transformers, these fields of tokenizer_config.json override tokenizer.json.
SWITCHES = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "split_cjk",
}
# The fields of tokenizer.json that must have the same values as in BERT.
REQUIRED = {
    ("model", "type"): "WordPiece",
    ("model", "continuing_subword_prefix"): "##",
    ("normalizer", "type"): "BertNormalizer",
    ("normalizer", "clean_text"): True,
    ("pre_tokenizer", "type"): "BertPreTokenizer",
}
MODEL_KEYS = Keys(
    (
        *("type", "unk_token", "continuing_subword_prefix", "vocab"),
        "max_input_chars_per_word",
    )
)
PART_KEYS = {
    "normalizer": Keys(
        ("type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    ),
    "pre_tokenizer": Keys(("type",)),
}


def arguments_from(directory: Path) -> dict[str, Any] | None:
    """Reads the arguments of a `WordPieceTokenizer`.

    Returns:
        Keyword arguments, or `None` if the directory lacks the files.

    Raises:
        ValueError: If tokenizer.json has parts that are not supported.
    """
    if (directory / JSON).is_file():
        arguments = _from_json(directory / JSON)
    elif (directory / VOCABULARY).is_file():
        arguments = {"vocabulary": read_vocabulary(directory / VOCABULARY)}
    else:
        return None
    return arguments | _switches(directory / "tokenizer_config.json")


def write(
    tokenizer: WordPieceTokenizer, directory: Path, num_separators: int = 1
) -> None:
    """Writes tokenizer.json and vocab.txt; see `byte_pair.write` for the arguments."""
    pieces = tokenizer.get_vocabulary()
    (directory / VOCABULARY).write_text("\n".join(pieces) + "\n", encoding="utf-8")
    content = _json(tokenizer, pieces, num_separators)
    text = json.dumps(content, indent=2, ensure_ascii=False)
    (directory / JSON).write_text(text, encoding="utf-8")


def config_fields(tokenizer: WordPieceTokenizer) -> dict[str, Any]:
    """Returns the tokenizer_config.json fields of the tokenizer."""
    return {theirs: getattr(tokenizer, ours) for theirs, ours in SWITCHES.items()}


def _from_json(path: Path) -> dict[str, Any]:
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
    for part, keys in PART_KEYS.items():
        keys.check(content[part], f"{path}, `{part}`")
    model, normalizer = content["model"], content["normalizer"]
    added = added_tokens.read(content, path)
    arguments = {
        "vocabulary": _in_order(model.get("vocab"), added.ids, path),
        "num_model_pieces": _num_model_pieces(model["vocab"]),
        "added_tokens": added.plain,
        **added.arguments,
        "unknown_token": model.get("unk_token", "[UNK]"),
        "max_characters_per_word": model.get("max_input_chars_per_word", 100),
        "lowercase": normalizer.get("lowercase", True),
        "strip_accents": normalizer.get("strip_accents"),
        "split_cjk": normalizer.get("handle_chinese_chars", True),
    }
    return _checked(arguments, path)


def _in_order(ids: Any, added: dict[str, int], path: Path) -> list[str]:
    if not isinstance(ids, dict) or not ids:
        raise ValueError(f"{path}: `model.vocab` must map pieces to ids.")
    ids = {**ids, **added}
    integers = all(type(x) is int for x in ids.values())
    if not integers or set(ids.values()) != set(range(len(ids))):
        raise ValueError(f"{path}: the ids of `model.vocab` must be 0 to n - 1.")
    return sorted(ids, key=ids.__getitem__)


def _num_model_pieces(ids: dict[str, int]) -> int | None:
    """Returns the number of model pieces, if they have the lowest ids."""
    found = {x for x in ids.values() if type(x) is int}
    return len(ids) if found == set(range(len(ids))) else None


def _switches(path: Path) -> dict[str, Any]:
    config = read_json(path) if path.is_file() else {}
    if config.get("do_basic_tokenize") is False:
        raise ValueError(f"{path}: `do_basic_tokenize` must be true. Received: False")
    return _checked(
        {ours: config[theirs] for theirs, ours in SWITCHES.items() if theirs in config},
        path,
    )


def _checked(arguments: dict[str, Any], path: Path) -> dict[str, Any]:
    """Checks the types that the tokenizer does not check; returns the arguments."""
    for name in SWITCHES.values():
        value = arguments.get(name, True)
        if not isinstance(value, bool) and (name, value) != ("strip_accents", None):
            raise ValueError(
                f"{path}: `{name}` must be true or false. Received: {value!r}"
            )
    return arguments


def _json(
    tokenizer: WordPieceTokenizer, pieces: list[str], num_separators: int
) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens.entries(tokenizer, tokenizer.added_tokens),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": tokenizer.split_cjk,
            "strip_accents": tokenizer.strip_accents,
            "lowercase": tokenizer.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template(tokenizer, num_separators),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": tokenizer.id_to_token(tokenizer.unknown_id),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": tokenizer.max_characters_per_word,
            "vocab": {
                piece: i for i, piece in enumerate(pieces[: tokenizer.num_model_pieces])
            },
        },
    }
