"""The `post_processor` of tokenizer.json, which adds the special tokens."""

from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.tokenizers.sections import parts
from keras_bert_lite.text.base_tokenizer import Tokenizer


def template(tokenizer: Tokenizer, num_separators: int) -> dict[str, Any]:
    """Returns a `TemplateProcessing` section.

    The second text has segment 1, or segment 0 after two separators, as in RoBERTa.

    Args:
        tokenizer: The tokenizer with the special tokens.
        num_separators: The number of separators between the two texts of a pair.
    """
    cls = tokenizer.id_to_token(tokenizer.cls_id)
    sep = tokenizer.id_to_token(tokenizer.sep_id)
    second = 1 if num_separators == 1 else 0

    def special(token: str, type_id: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": token, "type_id": type_id}}

    def text(name: str, type_id: int = 0) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [special(cls), text("A"), special(sep)]
    between = [special(sep)] * (num_separators - 1)
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, *between, text("B", second), special(sep, second)],
        "special_tokens": {
            x: {"id": x, "ids": [tokenizer.token_to_id(x)], "tokens": [x]}
            for x in dict.fromkeys((cls, sep))
        },
    }


def ends(processor: Any, path: Path) -> dict[str, str]:
    """Returns the arguments for the special tokens around a text, if a template
    has them.

    Raises:
        ValueError: If the template is not `[CLS] A [SEP]`.
    """
    for part in parts(processor, "post_processor", path):
        if part.get("type") == "TemplateProcessing":
            single = _names(part, "single", path)
            if len(single) != 3 or single[1] != {"A"}:
                raise _other(path, "single", "[CLS] A [SEP]", part)
            return {"cls_token": single[0], "sep_token": single[2]}
    return {}


def separators(processor: Any, path: Path) -> int | None:
    """Returns the number of separators between two texts, if it is said.

    Raises:
        ValueError: If the template is not `[CLS] A [SEP] B [SEP]` with one or two
            separators between the texts.
    """
    for part in parts(processor, "post_processor", path):
        if part.get("type") == "RobertaProcessing":
            return 2
        if part.get("type") == "BertProcessing":
            return 1
        if part.get("type") == "TemplateProcessing":
            tokens = ends(part, path)
            cls, sep = tokens["cls_token"], tokens["sep_token"]
            pair = _names(part, "pair", path)
            for count in (1, 2):
                if pair == [cls, {"A"}, *[sep] * count, {"B"}, sep]:
                    return count
            raise _other(path, "pair", "[CLS] A [SEP] B [SEP]", part)
    return None


def _names(part: dict[str, Any], name: str, path: Path) -> list[Any]:
    """Returns a template: special tokens as strings, texts as sets of their name."""
    try:
        return [
            x["SpecialToken"]["id"] if "SpecialToken" in x else {x["Sequence"]["id"]}
            for x in part[name]
        ]
    except (KeyError, TypeError):
        raise _other(path, name, "a list of special tokens and texts", part) from None


def _other(path: Path, name: str, expected: str, part: dict[str, Any]) -> ValueError:
    return ValueError(
        f"{path}: `post_processor.{name}` must be {expected}. "
        f"Received: {part.get(name)!r:.300}"
    )
