"""Reading and writing Hugging Face files of byte-level BPE tokenizers."""

import json
from pathlib import Path
from typing import Any, NoReturn

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.checkpoints.tokenizers import added_tokens
from keras_bert_lite.checkpoints.tokenizers.post_processor import ends, template
from keras_bert_lite.checkpoints.tokenizers.sections import parts
from keras_bert_lite.checkpoints.tokenizers.tokenizer_config import (
    CONFIG,
    optional_json,
)
from keras_bert_lite.text.byte_pair.patterns import GPT2, PATTERNS
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.byte_pair.vocabulary import in_order, read_merges, read_pieces

# Supported values of the tokenizer.json fields that change the result; the first
# value is the default.
_MODEL = {
    "type": ("BPE",),
    "dropout": (None, 0, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (False,),
    "ignore_merges": (False, True),
}
# No text is unknown to byte-level BPE.
MODEL_KEYS = Keys((*_MODEL, "vocab", "merges"), ignored=("unk_token", "fuse_unk"))
BYTE_LEVEL_KEYS = Keys(("type", "add_prefix_space", "trim_offsets", "use_regex"))
# As in transformers, these fields of RoBERTa's tokenizer_config.json override
# tokenizer.json; those of other classes must agree with it.
SWITCHES = ("add_prefix_space", "trim_offsets")
_SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}
# The patterns match all of a text, so what is left when nothing else is removed are
# the same words.
_SPLITS = (_SPLIT, {"type": "Split", "behavior": "Removed", "invert": True})
_NFC = {"type": "NFC"}
_TRIMMING = ("RobertaProcessing", "ByteLevel")


def arguments_from(directory: Path) -> dict[str, Any] | None:
    """Reads the arguments of a `BytePairTokenizer`.

    Args:
        directory: A directory with tokenizer.json (preferred), or with vocab.json
            and merges.txt.

    Returns:
        Keyword arguments, or `None` if the directory lacks these files or its
        tokenizer.json describes another kind of model.

    Raises:
        ValueError: If a file cannot be read, or describes a tokenizer that
            `BytePairTokenizer` cannot reproduce.
    """
    path = directory / "tokenizer.json"
    if path.is_file():
        content = read_json(path)
        model = content.get("model")
        if isinstance(model, dict) and model.get("type", "BPE") == "BPE":
            return _switches(directory, _from_tokenizer_json(content, path))
        return None
    paths = directory / "vocab.json", directory / "merges.txt"
    if not all(path.is_file() for path in paths):
        return None
    pieces, merges = read_pieces(paths[0]), read_merges(paths[1])
    return _switches(directory, {"vocabulary": pieces, "merges": merges})


def write(
    tokenizer: BytePairTokenizer, directory: Path, num_separators: int = 2
) -> None:
    """Writes tokenizer.json, vocab.json and merges.txt.

    With these files, `tokenizers.Tokenizer.from_file` and transformers'
    `AutoTokenizer` return the same ids.

    Args:
        tokenizer: The tokenizer.
        directory: The directory to write to; it must exist.
        num_separators: The number of separators between the two texts of a pair.
    """
    ids = {piece: i for i, piece in enumerate(tokenizer.get_vocabulary())}
    merges = tokenizer.get_merges()
    _dump(
        directory / "tokenizer.json",
        _tokenizer_json(tokenizer, ids, merges, num_separators),
    )
    _dump(directory / "vocab.json", ids)
    lines = "\n".join(["#version: 0.2", *merges, ""])
    (directory / "merges.txt").write_bytes(lines.encode())


def config_fields(tokenizer: BytePairTokenizer) -> dict[str, Any]:
    """Returns the tokenizer_config.json fields of the tokenizer."""
    return {name: getattr(tokenizer, name) for name in SWITCHES}


def _switches(directory: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with those of tokenizer_config.json."""
    path = directory / CONFIG
    config = optional_json(path)
    overrides = str(config.get("tokenizer_class")).startswith("Roberta")
    for name in SWITCHES:
        value = config.get(name)
        if not isinstance(value, bool | None):
            _refuse(path, name, "true or false", value)
        if value is None or value == arguments.get(name):
            continue
        if name in arguments and not overrides:
            _refuse(path, name, f"{arguments[name]}, as in tokenizer.json", value)
        arguments = {**arguments, name: value}
    return arguments


def _from_tokenizer_json(content: dict[str, Any], path: Path) -> dict[str, Any]:
    model = content["model"]
    _check(model, "model", _MODEL, path)
    if isinstance(model.get("vocab"), dict):
        added = added_tokens.read(content, path, refused=())
        ids = {**model["vocab"], **added.ids}
        vocabulary = in_order(ids, f"{path}: `model.vocab`")
    else:
        _refuse(path, "model.vocab", "an object", model.get("vocab"))
    split_pattern, prefix = _words(content.get("pre_tokenizer"), path)
    return {
        "vocabulary": vocabulary,
        "merges": _merges(model.get("merges"), path),
        "added_tokens": added.plain,
        **added.arguments,
        **ends(content.get("post_processor"), path),
        "add_prefix_space": prefix,
        "trim_offsets": _trims(content.get("post_processor"), prefix, path),
        "normalization": _normalization(content.get("normalizer"), path),
        "split_pattern": split_pattern,
        "ignore_merges": model.get("ignore_merges", False),
    }


def _normalization(normalizer: Any, path: Path) -> list[str]:
    found = parts(normalizer, "normalizer", path)
    if found not in ([], [_NFC]):
        _refuse(path, "normalizer", f"null or {_NFC}", normalizer)
    return ["nfc"] * len(found)


def _words(pre_tokenizer: Any, path: Path) -> tuple[str, bool]:
    """Returns the pattern of words, and whether a space is added before the first."""
    name = "pre_tokenizer"
    *before, last = parts(pre_tokenizer, name, path) or [{}]
    own_pattern = last.get("use_regex", True)
    is_known = last.get("type") == "ByteLevel" and own_pattern in (True, False)
    if not is_known or len(before) != (not own_pattern):
        expected = "`ByteLevel`, or `Split` and `ByteLevel` without its pattern"
        _refuse(path, name, expected, pre_tokenizer)
    BYTE_LEVEL_KEYS.check(last, f"{path}, `{name}`")
    prefix = last.get("add_prefix_space", True)
    if own_pattern:
        return GPT2, prefix
    split = {key: before[0].get(key) for key in _SPLIT}
    if split not in _SPLITS:
        _refuse(path, name, f"one of {_SPLITS} before `ByteLevel`", split)
    pattern = before[0].get("pattern")
    regex = pattern.get("Regex") if isinstance(pattern, dict) else None
    if not isinstance(regex, str) or regex not in PATTERNS:
        _refuse(path, f"{name}.pattern.Regex", f"one of {tuple(PATTERNS)}", pattern)
    return regex, prefix


def _check(
    section: dict[str, Any], name: str, expected: dict[str, tuple], path: Path
) -> None:
    for key, allowed in expected.items():
        if section.get(key, allowed[0]) not in allowed:
            _refuse(path, f"{name}.{key}", repr(allowed[0]), section[key])


def _merges(merges: Any, path: Path) -> list[str]:
    if not isinstance(merges, list):
        _refuse(path, "model.merges", "a list", merges)
    pairs = [x.split(" ") if isinstance(x, str) else x for x in merges]
    for pair in pairs:
        if not isinstance(pair, list) or not all(isinstance(x, str) for x in pair):
            _refuse(path, "model.merges", "pairs of strings", pair)
    return [" ".join(pair) for pair in pairs]


def _trims(processor: Any, prefix: bool, path: Path) -> bool:
    """Returns whether a post-processor trims white space from offsets."""
    for part in parts(processor, "post_processor", path):
        if part.get("type") in _TRIMMING and part.get("trim_offsets", True):
            if part.get("add_prefix_space", True) != prefix:
                _refuse(
                    path,
                    "post_processor.add_prefix_space",
                    f"{prefix}, as in `pre_tokenizer`",
                    not prefix,
                )
            return True
    return False


def _refuse(path: Path, field: str, expected: str, received: Any) -> NoReturn:
    raise ValueError(
        f"{path}: `{field}` must be {expected}. Received: {received!r:.200}"
    )


def _tokenizer_json(
    tokenizer: BytePairTokenizer,
    ids: dict[str, int],
    merges: list[str],
    num_separators: int,
) -> dict[str, Any]:
    byte_level = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
    prefix = {"add_prefix_space": tokenizer.add_prefix_space}
    pre_tokenizer = {**byte_level, **prefix}
    if tokenizer.split_pattern != GPT2:
        pattern = {"Regex": tokenizer.split_pattern}
        pre_tokenizer = {
            "type": "Sequence",
            "pretokenizers": [
                {**_SPLIT, "pattern": pattern},
                {**pre_tokenizer, "use_regex": False},
            ],
        }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens.entries(tokenizer, tokenizer.added_tokens),
        "normalizer": _NFC if tokenizer.normalization else None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": {
            "type": "Sequence",
            "processors": [
                {**byte_level, **prefix, "trim_offsets": tokenizer.trim_offsets},
                template(tokenizer, num_separators),
            ],
        },
        "decoder": {**byte_level, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": tokenizer.ignore_merges,
            "vocab": ids,
            "merges": merges,
        },
    }


def _dump(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
