"""Reading and writing the files of SentencePiece tokenizers."""

import base64
import json
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.checkpoints.tokenizers import added_tokens
from keras_bert_lite.checkpoints.tokenizers.post_processor import template
from keras_bert_lite.checkpoints.tokenizers.sentence_piece_json import (
    normalizer_json,
    pre_tokenizer_json,
    read_normalizer,
    read_pre_tokenizer,
    read_special_tokens,
)
from keras_bert_lite.checkpoints.tokenizers.tokenizer_config import (
    optional_json,
    read_config,
    special_tokens,
)
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer

MODEL_KEYS = Keys(("type", "unk_id", "vocab", "byte_fallback"))
# Model file -> the family whose checkpoints have it.
MODEL_FILES = {
    "spiece.model": "albert",
    "sentencepiece.bpe.model": "xlm-roberta",
    "spm.model": "deberta-v2",
}
CLASSES = {
    "AlbertTokenizer": "albert",
    "XLMRobertaTokenizer": "xlm-roberta",
    "DebertaV2Tokenizer": "deberta-v2",
}
SPECIAL_TOKENS = {
    "albert": ("<unk>", "[CLS]", "[SEP]", "<pad>", "[MASK]"),
    "xlm-roberta": ("<unk>", "<s>", "</s>", "<pad>", "<mask>"),
    "deberta-v2": ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"),
}
ROLES = ("unknown_token", "cls_token", "sep_token", "pad_token", "mask_token")
# Enum values of `sentencepiece_model.proto`.
_USER_DEFINED, _UNKNOWN, _UNIGRAM = 4, 2, 1


def arguments_from(directory: Path) -> dict[str, Any] | None:
    """Reads the arguments of a `SentencePieceTokenizer`.

    tokenizer.json is taken literally. A `.model` file is interpreted like Hugging
    Face's `AlbertTokenizer`, `XLMRobertaTokenizer` or `DebertaV2Tokenizer`.

    Args:
        directory: A directory with tokenizer.json, spiece.model,
            sentencepiece.bpe.model or spm.model.

    Returns:
        Keyword arguments, or `None` if the directory has no unigram tokenizer.

    Raises:
        ValueError: If the files are invalid, or have parts that
            `SentencePieceTokenizer` does not support.
    """
    path = directory / "tokenizer.json"
    config = read_config(directory)
    if path.is_file():
        content = read_json(path)
        if (content.get("model") or {}).get("type") != "Unigram":
            return None
        return _from_json(content, path) | special_tokens(directory, config)
    for name, family in MODEL_FILES.items():
        if (directory / name).is_file():
            family = _family(directory, config, family)
            return _from_model(directory / name, family, config)
    return None


def write(
    tokenizer: SentencePieceTokenizer, directory: Path, num_separators: int = 1
) -> None:
    """Writes tokenizer.json for Hugging Face's `tokenizers`.

    Args:
        tokenizer: The tokenizer.
        directory: The directory to write to; it must exist.
        num_separators: The number of separators between the two texts of a pair.
    """
    config = tokenizer.get_config()
    pieces = config["vocabulary"]
    metaspace = {
        "type": "Metaspace",
        "replacement": "▁",
        "prepend_scheme": "always",
        "split": True,
    }
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens.entries(tokenizer, config["added_tokens"]),
        "normalizer": normalizer_json(config["normalization"], config["charsmap"]),
        "pre_tokenizer": pre_tokenizer_json(config, metaspace),
        "post_processor": template(tokenizer, num_separators),
        "decoder": metaspace,
        "model": {
            "type": "Unigram",
            "unk_id": tokenizer.unknown_id,
            "vocab": [list(x) for x in zip(pieces, config["scores"], strict=False)],
            "byte_fallback": False,
        },
    }
    text = json.dumps(content, ensure_ascii=False, indent=2)
    (directory / "tokenizer.json").write_text(text + "\n", encoding="utf-8")


def _from_json(content: dict[str, Any], path: Path) -> dict[str, Any]:
    model = content["model"]
    if model.get("byte_fallback"):
        raise ValueError(f"{path}: `model.byte_fallback` must be false. Received: true")
    vocabulary, scores = _vocabulary(model.get("vocab"), path)
    ids = added_tokens.read(content, path).ids
    for token in sorted(ids, key=ids.__getitem__):
        if ids[token] < len(vocabulary):
            continue
        if ids[token] > len(vocabulary):
            raise ValueError(
                f"{path}: `added_tokens` must have the ids from {len(scores)} on. "
                f"Received: {ids[token]} for {token!r}"
            )
        vocabulary.append(token)
    unknown = model.get("unk_id")
    if not isinstance(unknown, int) or not 0 <= unknown < len(vocabulary):
        raise ValueError(
            f"{path}: `model.unk_id` must be the id of a piece. Received: {unknown!r}"
        )
    return {
        "vocabulary": vocabulary,
        "scores": scores,
        **read_normalizer(content.get("normalizer"), path),
        **read_pre_tokenizer(content.get("pre_tokenizer"), path),
        **read_special_tokens(content, vocabulary, path),
        "unknown_token": vocabulary[unknown],
    }


def _vocabulary(vocab: Any, path: Path) -> tuple[list[str], list[float]]:
    try:
        pairs = [(str(piece), float(score)) for piece, score in vocab]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: `model.vocab` must be a list of pieces with scores ({error})"
        ) from error
    return [piece for piece, _ in pairs], [score for _, score in pairs]


def _family(directory: Path, config: dict[str, Any], default: str) -> str:
    kind = str(config.get("tokenizer_class") or "").removesuffix("Fast")
    family = CLASSES.get(kind) or optional_json(directory / "config.json").get(
        "model_type"
    )
    if family not in (None, *SPECIAL_TOKENS):
        raise ValueError(
            f"{directory}: `model_type` must be one of {list(SPECIAL_TOKENS)}. "
            f"Received: {family!r}"
        )
    return family or default


def _from_model(path: Path, family: str, config: dict[str, Any]) -> dict[str, Any]:
    model = _read_model(path)
    pairs = [(piece.piece, piece.score) for piece in model.pieces]
    names = dict(zip(ROLES, SPECIAL_TOKENS[family], strict=True))
    names |= special_tokens(path.parent, config)
    if family == "xlm-roberta":
        first = ("cls_token", "pad_token", "sep_token", "unknown_token")
        pairs = [(names[role], 0.0) for role in first] + pairs[3:]
        pairs.append((names["mask_token"], 0.0))
    else:
        _check_unknown(path, model, names["unknown_token"])
    vocabulary = [piece for piece, _ in pairs]
    # The order in which transformers appends tokens that the model lacks.
    order = ("cls_token", "sep_token", "unknown_token", "pad_token", "mask_token")
    missing = dict.fromkeys(names[x] for x in order if names[x] not in vocabulary)
    user_defined = [x.piece for x in model.pieces if x.type == _USER_DEFINED]
    return {
        "vocabulary": [*vocabulary, *missing],
        "scores": [score for _, score in pairs],
        "added_tokens": [x for x in user_defined if x not in names.values()],
        **_normalization(family, model, config),
        **names,
    }


def _check_unknown(path: Path, model: Any, token: str) -> None:
    unknown = [x.piece for x in model.pieces if x.type == _UNKNOWN]
    if token not in unknown:
        raise ValueError(
            f"{path}: the unknown token must be the model's, one of {unknown}; "
            f"`unk_token` in tokenizer_config.json selects it. Received: {token!r}"
        )


def _normalization(family: str, model: Any, config: dict[str, Any]) -> dict[str, Any]:
    lowercase = config.get("do_lower_case", family == "albert")
    steps = ["lowercase"] if lowercase and family != "xlm-roberta" else []
    if family == "deberta-v2":
        return {
            "normalization": [*steps, "collapse_white_space", "nfc", "strip_right"],
            "split_white_space": False,
            "split_punctuation": bool(config.get("split_by_punct", False)),
        }
    if family == "albert":
        accents = [] if config.get("keep_accents", False) else ["strip_accents"]
        steps = ["quotes", *accents, *steps]
    charsmap = model.normalizer_spec.precompiled_charsmap
    return {
        "normalization": [*steps, "charsmap"] if charsmap else steps,
        "charsmap": base64.b64encode(charsmap).decode(),
    }


def _read_model(path: Path) -> Any:
    # Imported here because few checkpoints have such a file.
    from sentencepiece import sentencepiece_model_pb2

    proto: Any = sentencepiece_model_pb2  # protobuf creates its classes at run time
    try:
        model = proto.ModelProto.FromString(path.read_bytes())
    except Exception as error:  # two packages of protobuf, each with its own class
        raise ValueError(f"{path} is not a SentencePiece model: {error}") from error
    kind = model.trainer_spec.model_type
    if kind != _UNIGRAM:
        name = proto.TrainerSpec.ModelType.Name(kind)
        raise ValueError(
            f"{path}: `trainer_spec.model_type` must be UNIGRAM. Received: {name}"
        )
    if not model.pieces:
        raise ValueError(f"{path}: `pieces` must not be empty.")
    return model
