"""The model families: properties that the sizes of an encoder do not determine.

There is one row per family, by its name at Hugging Face (`model_type`). The names of
its tensors and of its fields in config.json are in
`checkpoints/hugging_face/families.py`.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Family:
    """One family.

    Args:
        tokenizer: The class of its tokenizer in transformers.
        num_separators: Separators between the two texts of a pair.
        positions_after_padding: Whether the index of the first position embedding
            is one more than the id of the padding token.
        head_form: The hidden layer of heads for sequences: `hidden_activation`,
            `hidden_dropout` and `hidden_bias` of `layers.DenseHead`, and whether
            there is a `hidden_norm` like those of the encoder. If empty, heads read
            `pooled_output`.
        token_form: The same for heads on tokens; if empty, they have no hidden layer.
        word_form: The hidden layer of a masked language model: whether it has a
            `hidden_bias`. If empty, there is none.
        pooled_choices: Whether multiple choice reads `pooled_output` regardless of
            `head_form`.
    """

    tokenizer: str
    num_separators: int = 1
    positions_after_padding: bool = False
    head_form: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    token_form: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    word_form: Mapping[str, Any] = dataclasses.field(
        default_factory=lambda: {"hidden_bias": True}
    )
    pooled_choices: bool = False


def _roberta(tokenizer: str) -> Family:
    return Family(
        tokenizer,
        num_separators=2,
        positions_after_padding=True,
        head_form={"hidden_activation": "tanh"},
        pooled_choices=True,
    )


DEBERTA_HEAD = {"hidden_activation": "gelu", "hidden_dropout": 0.0}
MODERNBERT_HEAD = {**DEBERTA_HEAD, "hidden_bias": False, "hidden_norm": True}
FAMILIES = {
    "bert": Family("BertTokenizer"),
    "roberta": _roberta("RobertaTokenizer"),
    "xlm-roberta": _roberta("XLMRobertaTokenizer"),
    "camembert": _roberta("CamembertTokenizer"),
    "data2vec-text": _roberta("RobertaTokenizer"),
    "distilbert": Family(
        "DistilBertTokenizer",
        head_form={"hidden_activation": "relu", "hidden_dropout": 0.0},
    ),
    "albert": Family("AlbertTokenizer"),
    "electra": Family("ElectraTokenizer", head_form={"hidden_activation": "gelu"}),
    "ernie": Family("BertTokenizer"),
    "mpnet": _roberta("MPNetTokenizer"),
    "deberta": Family("DebertaTokenizer", num_separators=2, head_form=DEBERTA_HEAD),
    "deberta-v2": Family("DebertaV2Tokenizer", head_form=DEBERTA_HEAD),
    "modernbert": Family(
        "TokenizersBackend",
        head_form=MODERNBERT_HEAD,
        token_form=MODERNBERT_HEAD,
        word_form={"hidden_bias": False},
    ),
    "eurobert": Family("TokenizersBackend", head_form=DEBERTA_HEAD, word_form={}),
    "nomic_bert": Family("BertTokenizer"),
    "gte": Family("XLMRobertaTokenizer", num_separators=2),
    "jina_embeddings_v3": Family(
        "XLMRobertaTokenizer",
        num_separators=2,
        head_form={"hidden_activation": "tanh"},
    ),
}
