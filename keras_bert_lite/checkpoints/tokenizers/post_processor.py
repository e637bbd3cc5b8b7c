"""The `post_processor` of tokenizer.json, which adds the special tokens."""

from typing import Any

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
