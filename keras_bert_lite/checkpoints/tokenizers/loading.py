"""Loading tokenizers and preprocessors from the files of checkpoints."""

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.checkpoints.tokenizers import (
    byte_pair as byte_pair_files,
    sentence_piece as sentence_piece_files,
    wordpiece as wordpiece_files,
)
from keras_bert_lite.checkpoints.tokenizers.post_processor import separators
from keras_bert_lite.checkpoints.tokenizers.tokenizer_config import (
    CONFIG,
    additional_special_tokens,
    check_added_tokens,
    check_keys,
    optional_json,
    read_config,
    special_tokens,
)
from keras_bert_lite.families import FAMILIES, Family
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer

# `model.type` in tokenizer.json -> the tokenizer, and the module for its files.
KINDS: dict[str, tuple[type[Tokenizer], ModuleType]] = {
    "WordPiece": (WordPieceTokenizer, wordpiece_files),
    "BPE": (BytePairTokenizer, byte_pair_files),
    "Unigram": (SentencePieceTokenizer, sentence_piece_files),
}
# Truncation, padding and separators are arguments of `Preprocessor`.
TOKENIZER_KEYS = Keys(
    followed=("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "model"),
    ignored=("version", "truncation", "padding", "decoder"),
)
# The configurations of sentence-transformers' first module; one has the length.
SENTENCE_CONFIGS = tuple(
    f"sentence_{name}_config.json"
    for name in (
        *("bert", "roberta", "distilbert", "camembert", "albert"),
        *("xlm-roberta", "xlnet"),
    )
)
# Tokenizer classes of transformers (also as `Fast`) that these tokenizers reproduce.
CLASSES = (
    *(family.tokenizer.removesuffix("Tokenizer") for family in FAMILIES.values()),
    "PreTrained",
    "Tokenizers",  # transformers 5: `TokenizersBackend`
)


def load_tokenizer(directory: Path, changes: dict[str, Any]) -> Tokenizer:
    """Loads the tokenizer of a directory; see `load.load_tokenizer`."""
    check_keys(directory)
    config = read_config(directory)
    _check_class(directory, config)
    special = special_tokens(directory, config)
    kind, arguments = _kind_and_arguments(directory)
    arguments["additional_special_tokens"] = [
        *arguments.get("additional_special_tokens", ()),
        *additional_special_tokens(directory, config, arguments["vocabulary"]),
    ]
    try:
        tokenizer = kind(**{**arguments, **special, **changes})
    except (TypeError, ValueError) as error:
        raise ValueError(f"The tokenizer of {directory}: {error}") from error
    check_added_tokens(directory, config, tokenizer.get_vocabulary())
    return tokenizer


def load_preprocessor(directory: Path, changes: dict[str, Any]) -> Preprocessor:
    """Loads the preprocessor of a directory; see `load.load_preprocessor`."""
    _check_sides(directory / CONFIG)
    options, tokenizer_options = split_changes(changes)
    tokenizer = load_tokenizer(directory, tokenizer_options)
    arguments = {
        "sequence_length": _sequence_length(directory),
        "num_separators": _num_separators(directory),
        **options,
    }
    try:
        return Preprocessor(tokenizer, **arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The preprocessor of {directory}: {error}") from error


def split_changes(changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the arguments of `Preprocessor`, and those of its tokenizer."""
    own = {"name", "trainable", "dtype", *inspect.signature(Preprocessor).parameters}
    return (
        {name: x for name, x in changes.items() if name in own},
        {name: x for name, x in changes.items() if name not in own},
    )


def _kind_and_arguments(directory: Path) -> tuple[type[Tokenizer], dict[str, Any]]:
    path = directory / "tokenizer.json"
    if path.is_file():
        content = read_json(path)
        TOKENIZER_KEYS.check(content, path)
        model = content.get("model")
        if not isinstance(model, dict) or not model:
            raise ValueError(f"{path}: `model` must be an object. Received: {model!r}")
        name = model.get("type", "WordPiece")
        if not isinstance(name, str) or name not in KINDS:
            raise ValueError(
                f"{path}: `model.type` must be one of {sorted(KINDS)}. "
                f"Received: {name!r}"
            )
        kind, files = KINDS[name]
        files.MODEL_KEYS.check(model, f"{path}, `model`")
        return kind, files.arguments_from(directory)
    for kind, files in KINDS.values():
        arguments = files.arguments_from(directory)
        if arguments is not None:
            return kind, arguments
    raise ValueError(
        f"{directory} has neither tokenizer.json nor vocab.txt, nor vocab.json with "
        "merges.txt, nor a SentencePiece .model."
    )


def _check_class(directory: Path, config: dict[str, Any]) -> None:
    name = config.get("tokenizer_class")
    if name is None:
        return
    known = isinstance(name, str) and any(
        name in (f"{x}Tokenizer", f"{x}TokenizerFast", f"{x}Backend") for x in CLASSES
    )
    if not known:
        raise ValueError(
            f"{directory / 'tokenizer_config.json'}: `tokenizer_class` must be "
            f"one of {CLASSES}. Received: {name!r}"
        )


def _num_separators(directory: Path) -> int:
    """Returns the number of separators between two texts."""
    path = directory / "tokenizer.json"
    count = separators(optional_json(path).get("post_processor"), path)
    if count is not None:
        return count
    family = _family(optional_json(directory / "config.json"))
    return family.num_separators if family else 1


def _family(config: dict[str, Any]) -> Family | None:
    name = config.get("model_type")
    return FAMILIES.get(name) if isinstance(name, str) else None


def _sequence_length(directory: Path) -> int | None:
    path = directory / "config.json"
    config = optional_json(path)
    rows = _number(path, config, "max_position_embeddings") or 512
    family = _family(config)
    if family and family.positions_after_padding:
        padding_id = _number(path, config, "pad_token_id", 0)
        rows -= (1 if padding_id is None else padding_id) + 1
    limits = [(file, "max_seq_length") for file in SENTENCE_CONFIGS]
    limits += [(CONFIG, "model_max_length"), (CONFIG, "max_len")]
    found = [
        _number(directory / file, optional_json(directory / file), name)
        for file, name in limits
    ]
    return int(min(rows, next((x for x in found if x), rows)))


def _check_sides(path: Path) -> None:
    config = optional_json(path)
    for name in ("truncation_side", "padding_side"):
        if config.get(name) not in ("right", None):
            raise ValueError(
                f"{path}: `{name}` must be 'right'. Received: {config[name]!r}"
            )


def _number(
    path: Path, config: dict[str, Any], name: str, least: int = 1
) -> float | None:
    """Returns a numeric field, in which transformers writes 1e30 for no limit."""
    value = config.get(name)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (number and value >= least):
        raise ValueError(
            f"{path}: `{name}` must be a number, {least} or more. Received: {value!r}"
        )
    return value
