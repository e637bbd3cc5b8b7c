"""Writing a tokenizer's files for Hugging Face transformers."""

import json
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.tokenizers import (
    byte_pair as byte_pair_files,
    sentence_piece as sentence_piece_files,
    wordpiece as wordpiece_files,
)
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer

WRITERS: dict[type[Tokenizer], Any] = {
    WordPieceTokenizer: wordpiece_files,
    BytePairTokenizer: byte_pair_files,
    SentencePieceTokenizer: sentence_piece_files,
}
# The classes in transformers of each kind. The first is for tokenizers of another kind
# than their family's class: GTE has both XLM-R's tokenizers and BERT's (in English).
CLASSES: dict[type[Tokenizer], tuple[str, ...]] = {
    WordPieceTokenizer: (
        "BertTokenizer",
        "DistilBertTokenizer",
        "ElectraTokenizer",
        "MPNetTokenizer",
    ),
    BytePairTokenizer: ("TokenizersBackend", "RobertaTokenizer", "DebertaTokenizer"),
    SentencePieceTokenizer: (
        "XLMRobertaTokenizer",
        "AlbertTokenizer",
        "CamembertTokenizer",
        "DebertaV2Tokenizer",
    ),
}
# Fields of tokenizer_config.json in addition to the special tokens.
CONFIG_FIELDS: dict[type[Tokenizer], Any] = {
    WordPieceTokenizer: wordpiece_files.config_fields,
    BytePairTokenizer: byte_pair_files.config_fields,
}
ROLES = {
    "unknown": "unk_token",
    "cls": "cls_token",
    "sep": "sep_token",
    "pad": "pad_token",
    "mask": "mask_token",
}


def write_tokenizer(
    preprocessor: Preprocessor, config: EncoderConfig, directory: Path
) -> None:
    """Writes the files of a preprocessor's tokenizer."""
    tokenizer = preprocessor.tokenizer
    files = WRITERS[type(tokenizer)]
    files.write(tokenizer, directory, preprocessor.num_separators)
    tokens = special_tokens(tokenizer)
    length = preprocessor.sequence_length or config.max_sequence_length
    fields = {
        "tokenizer_class": _class_name(tokenizer, config.family),
        **({"model_max_length": length} if length else {}),
        **CONFIG_FIELDS.get(type(tokenizer), _no_fields)(tokenizer),
        **tokens,
    }
    _write(directory / "tokenizer_config.json", fields)
    _write(directory / "special_tokens_map.json", tokens)


def _class_name(tokenizer: Tokenizer, family: str) -> str:
    name, classes = FAMILIES[family].tokenizer, CLASSES[type(tokenizer)]
    return name if name in ("TokenizersBackend", *classes) else classes[0]


def _no_fields(tokenizer: Tokenizer) -> dict[str, Any]:
    return {}


def special_tokens(tokenizer: Tokenizer) -> dict[str, str]:
    """Returns the special tokens in the vocabulary, by their names in transformers."""
    known = set(tokenizer.special_tokens)
    roles = tokenizer.roles
    tokens = {ROLES[role]: token for role, token in roles.items() if token in known}
    if tokens["cls_token"].startswith("<"):  # RoBERTa also has these names for them
        tokens |= {"bos_token": tokens["cls_token"], "eos_token": tokens["sep_token"]}
    return tokens


def tokenizer_fields(tokenizer: Tokenizer, raw: dict[str, Any]) -> dict[str, Any]:
    """Returns the config.json fields of the tokenizer.

    Raises:
        ValueError: If the model's positions assume another padding id.
    """
    padding_id = tokenizer.pad_id
    if raw.get("pad_token_id", padding_id) != padding_id:
        raise ValueError(
            "`preprocessor` must pad with the id that the model's positions count "
            f"from, {raw['pad_token_id']}. Received: pad_id={padding_id}"
        )
    return {
        "pad_token_id": padding_id,
        "bos_token_id": tokenizer.cls_id,
        "eos_token_id": tokenizer.sep_id,
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False))
