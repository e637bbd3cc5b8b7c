"""Reading tokenizer_config.json and the older files next to it."""

from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.sources import read_json

CONFIG = "tokenizer_config.json"
SPECIAL_TOKENS_MAP = "special_tokens_map.json"
ADDED_TOKENS = "added_tokens.json"
DECODER = "added_tokens_decoder"
# Names in the files -> our arguments.
SPECIAL_TOKENS = {
    "unk_token": "unknown_token",
    "cls_token": "cls_token",
    "sep_token": "sep_token",
    "pad_token": "pad_token",
    "mask_token": "mask_token",
}

# Current and former names in transformers for special tokens without a role.
ADDITIONAL = ("additional_special_tokens", "extra_special_tokens")
# Fields that a tokenizer or a preprocessor is made by.
SWITCHES = (
    *("do_lower_case", "strip_accents", "tokenize_chinese_chars"),
    *("do_basic_tokenize", "keep_accents", "split_by_punct"),
    *("add_prefix_space", "trim_offsets"),
)
LENGTHS = ("model_max_length", "max_len")
SIDES = ("truncation_side", "padding_side")
KEYS = Keys(
    followed=(
        *("tokenizer_class", DECODER, *SPECIAL_TOKENS, *ADDITIONAL),
        *(*SWITCHES, *LENGTHS, *SIDES),
    ),
    only={"never_split": None, "sp_model_kwargs": {}, "remove_space": True},
    ignored=(
        # What wrote the file.
        *("name_or_path", "vocab_file", "merges_file", "tokenizer_file"),
        *("special_tokens_map_file", "auto_map", "processor_class", "backend"),
        *("is_local", "local_files_only", "from_slow", "init_inputs"),
        *("fast_tokenizer_files", "use_fast", "legacy", "vocab_type", "unk_id"),
        # Of generation, and of text that is made of ids.
        *("bos_token", "eos_token", "chat_template", "errors"),
        *("clean_up_tokenization_spaces", "spaces_between_special_tokens"),
        # How transformers calls the tokenizer unless it is told otherwise, and what
        # it returns; special tokens in a text are plain text here.
        *("model_input_names", "max_length", "stride", "padding", "truncation"),
        *("truncation_strategy", "pad_to_multiple_of", "pad_token_type_id"),
        *("split_special_tokens", "return_token_type_ids"),
        "model_specific_special_tokens",
    ),
)
SPECIAL_KEYS = Keys(
    followed=(*SPECIAL_TOKENS, *ADDITIONAL), ignored=("bos_token", "eos_token")
)


def optional_json(path: Path) -> dict[str, Any]:
    """Reads a JSON object; returns an empty one if the file is missing."""
    return read_json(path) if path.is_file() else {}


def read_config(directory: Path) -> dict[str, Any]:
    """Returns tokenizer_config.json with the special tokens of the directory.

    As in transformers, special_tokens_map.json takes precedence unless
    tokenizer_config.json has `added_tokens_decoder`.
    """
    config = optional_json(directory / CONFIG)
    if DECODER in config:
        return config
    special = optional_json(directory / SPECIAL_TOKENS_MAP)
    read = (*SPECIAL_TOKENS, *ADDITIONAL)
    return config | {name: x for name, x in special.items() if name in read}


def check_keys(directory: Path) -> None:
    """Checks the keys of tokenizer_config.json and of special_tokens_map.json."""
    for name, keys in ((CONFIG, KEYS), (SPECIAL_TOKENS_MAP, SPECIAL_KEYS)):
        keys.check(optional_json(directory / name), directory / name)


def special_tokens(directory: Path, config: dict[str, Any]) -> dict[str, str]:
    """Returns the special tokens of a configuration, by argument name.

    Raises:
        ValueError: If a token is not a string.
    """
    tokens: dict[str, str] = {}
    for theirs, ours in SPECIAL_TOKENS.items():
        token = config.get(theirs)
        content = token.get("content") if isinstance(token, dict) else token
        if token is not None and not isinstance(content, str):
            raise ValueError(
                f"{directory / CONFIG}: `{theirs}` must be a string or have `content`. "
                f"Received: {token!r}"
            )
        if content is not None:
            tokens[ours] = content
    return tokens


def additional_special_tokens(
    directory: Path, config: dict[str, Any], vocabulary: list[str]
) -> list[str]:
    """Returns the special tokens without a role in a configuration.

    Raises:
        ValueError: If a token is not a string or not in the vocabulary.
    """
    found: list[str] = []
    for name in ADDITIONAL:
        tokens = config.get(name) or []
        tokens = list(tokens.values()) if isinstance(tokens, dict) else tokens
        if not isinstance(tokens, list):
            tokens = [tokens]
        for token in tokens:
            content = token.get("content") if isinstance(token, dict) else token
            if not isinstance(content, str) or content not in vocabulary:
                files = (CONFIG, SPECIAL_TOKENS_MAP)
                file = next(x for x in files if name in optional_json(directory / x))
                raise ValueError(
                    f"{directory / file}: `{name}` must be tokens of the vocabulary. "
                    f"Received: {token!r}"
                )
            found.append(content)
    return found


def check_added_tokens(
    directory: Path, config: dict[str, Any], found: list[str]
) -> None:
    """Checks that the added tokens are in the vocabulary.

    Raises:
        ValueError: If one is not in the vocabulary, or has another id there.
    """
    path = directory / (CONFIG if DECODER in config else ADDED_TOKENS)
    for id, token in _added_tokens(path, config):
        if not 0 <= id < len(found) or found[id] != token:
            raise ValueError(
                f"{path}: the added token {token!r} of id {id} must be in the "
                f"vocabulary of {len(found)} tokens under that id; transformers' "
                "`AutoTokenizer.from_pretrained(directory).save_pretrained(directory)` "
                "writes a tokenizer.json that has it."
            )


def _added_tokens(path: Path, config: dict[str, Any]) -> list[tuple[int, str]]:
    try:
        if DECODER in config:
            return [(int(id), x["content"]) for id, x in config[DECODER].items()]
        return [(int(id), token) for token, id in optional_json(path).items()]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ValueError(
            f"{path}: the added tokens cannot be read: {error!r}"
        ) from error
