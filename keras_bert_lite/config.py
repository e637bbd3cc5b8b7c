"""The configuration of an encoder, and the published sizes."""

import dataclasses
from typing import Any

ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "silu", "tanh")
POOLINGS = ("first_token", "mean", "max", "attention")

# Vocabulary sizes of Google's released vocabularies.
UNCASED = 30522
CASED = 28996
MULTILINGUAL_CASED = 119547
MULTILINGUAL_UNCASED = 105879
CHINESE = 21128


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What determines an encoder: its sizes, dropout rates and functions.

    Args:
        vocabulary_size: Rows of the token embedding.
        num_layers: Encoder blocks.
        num_heads: Attention heads; must divide `hidden_dim`.
        hidden_dim: Width of the hidden states (H).
        intermediate_dim: Width of the feed-forward layers.
        embedding_dim: Width of the embeddings where they are factorized
            (ALBERT, ELECTRA); `None` means `hidden_dim` and no projection.
        max_sequence_length: Rows of the position embedding.
        num_segments: Rows of the segment embedding.
        dropout: Rate on embeddings and on the output of sublayers.
        attention_dropout: Rate on attention weights.
        layer_norm_epsilon: Added to the variance in layer normalization.
        activation: Of the feed-forward layers: `"gelu"` (exact, with erf, as
            in Hugging Face checkpoints), `"gelu_tanh"` (the approximation in
            Google's TF1 code), `"relu"`, `"silu"` or `"tanh"`.
        share_layers: Whether one block's weights serve every layer.
        pooling: How `pooled_output` is made: `"first_token"` (with a tanh
            dense layer, as BERT), `"mean"`, `"max"`, `"attention"`, or `None`
            for an encoder without it.
        initializer_range: Standard deviation of the truncated normal that
            weights start from.

    Raises:
        ValueError: If a value is out of its range.

    Reference: [Devlin et al., 2019](https://arxiv.org/abs/1810.04805).
    """

    vocabulary_size: int
    num_layers: int
    num_heads: int
    hidden_dim: int
    intermediate_dim: int
    embedding_dim: int | None = None
    max_sequence_length: int = 512
    num_segments: int = 2
    dropout: float = 0.1
    attention_dropout: float = 0.1
    layer_norm_epsilon: float = 1e-12
    activation: str = "gelu"
    share_layers: bool = False
    pooling: str | None = "first_token"
    initializer_range: float = 0.02

    def __post_init__(self) -> None:
        for name in (
            "vocabulary_size",
            "num_layers",
            "num_heads",
            "hidden_dim",
            "intermediate_dim",
            "max_sequence_length",
            "num_segments",
        ):
            check_positive(name, getattr(self, name))
        if self.embedding_dim is not None:
            check_positive("embedding_dim", self.embedding_dim)
        check_heads(self.hidden_dim, self.num_heads)
        check_rate("dropout", self.dropout)
        check_rate("attention_dropout", self.attention_dropout)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("pooling", self.pooling, (*POOLINGS, None))

    @classmethod
    def named(cls, name: str, **changes: Any) -> "EncoderConfig":
        """Returns a published configuration.

        Args:
            name: One of `EncoderConfig.names()`, such as `"bert_base_uncased"`.
            **changes: Fields to replace.

        Raises:
            ValueError: If the name is unknown.
        """
        check_choice("name", name, tuple(PUBLISHED))
        return cls(**{**PUBLISHED[name], **changes})

    @classmethod
    def names(cls) -> list[str]:
        """Returns the names of the published configurations."""
        return list(PUBLISHED)

    def replace(self, **changes: Any) -> "EncoderConfig":
        """Returns a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as a dictionary, for JSON."""
        return dataclasses.asdict(self)


def check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"`{name}` must be a positive integer. Received: {value!r}")


def check_rate(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1). Received: {value!r}")


def check_choice(name: str, value: Any, choices: tuple) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {choices}. Received: {value!r}")


def check_heads(hidden_dim: int, num_heads: int) -> None:
    if hidden_dim % num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. "
            f"Received: num_heads={num_heads}, hidden_dim={hidden_dim}"
        )


def _bert(
    vocabulary_size: int, num_layers: int, hidden_dim: int, num_heads: int | None = None
) -> dict[str, Any]:
    return {
        "vocabulary_size": vocabulary_size,
        "num_layers": num_layers,
        "num_heads": num_heads or hidden_dim // 64,
        "hidden_dim": hidden_dim,
        "intermediate_dim": 4 * hidden_dim,
    }


def _published() -> dict[str, dict[str, Any]]:
    """Google's released BERTs; sizes from the README of google-research/bert.

    The 24 miniatures are of [Turc et al., 2019](https://arxiv.org/abs/1908.08962).
    """
    table = {
        "bert_base_uncased": _bert(UNCASED, 12, 768),
        "bert_large_uncased": _bert(UNCASED, 24, 1024),
        "bert_base_cased": _bert(CASED, 12, 768),
        "bert_large_cased": _bert(CASED, 24, 1024),
        "bert_base_multilingual_cased": _bert(MULTILINGUAL_CASED, 12, 768),
        "bert_base_multilingual_uncased": _bert(MULTILINGUAL_UNCASED, 12, 768),
        "bert_base_chinese": _bert(CHINESE, 12, 768),
        "bert_tiny_uncased": _bert(UNCASED, 2, 128),
        "bert_mini_uncased": _bert(UNCASED, 4, 256),
        "bert_small_uncased": _bert(UNCASED, 4, 512),
        "bert_medium_uncased": _bert(UNCASED, 8, 512),
    }
    for num_layers in (2, 4, 6, 8, 10, 12):
        for hidden_dim in (128, 256, 512, 768):
            name = f"bert_l{num_layers}_h{hidden_dim}_uncased"
            table[name] = _bert(UNCASED, num_layers, hidden_dim)
    return table


PUBLISHED = _published()
