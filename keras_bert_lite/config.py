"""The configuration of an encoder, and the published sizes."""

import dataclasses
import math
from typing import Any

from keras_bert_lite.families import FAMILIES
from keras_bert_lite.published import PUBLISHED

ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "silu", "tanh")
RELATIVE_TERMS = ("c2p", "p2c")
POOLINGS = ("first_token", "mean", "max", "attention")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativePositions:
    """How DeBERTa's attention knows where tokens stand to each other.

    Args:
        max_distance: Tokens further apart count as this far apart.
        buckets: Distances up to half of it have a vector each, greater ones
            share vectors by the logarithm of the distance; `None`: each
            distance has its own.
        terms: What attends by position: `"c2p"`, content to position;
            `"p2c"`, position to content.
        share_projections: Whether positions are projected by the weights that
            project the content.
        normalize: Whether the table of positions is layer-normalized.

    Raises:
        ValueError: If a value is out of its range.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3.1.
    """

    max_distance: int
    buckets: int | None = None
    terms: tuple[str, ...] = RELATIVE_TERMS
    share_projections: bool = True
    normalize: bool = True

    def __post_init__(self) -> None:
        check_positive("max_distance", self.max_distance)
        if self.buckets is not None:
            check_positive("buckets", self.buckets)
        object.__setattr__(self, "terms", tuple(self.terms))
        for term in self.terms:
            check_choice("terms", term, RELATIVE_TERMS)

    @property
    def span(self) -> int:
        """Half the rows of the table of relative positions."""
        return self.buckets or self.max_distance


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
        project_before_norm: Whether the projection from `embedding_dim` comes
            before the layer normalization and has no bias (DeBERTa), or after
            it (ALBERT, ELECTRA).
        max_sequence_length: The most positions a row may have; `None` for an
            encoder without absolute positions, which takes any length.
        position_offset: Row of the first position (RoBERTa: 2, one more than
            the id of the padding token).
        num_segments: Rows of the segment embedding; 0 for none.
        dropout: Rate on embeddings and on the output of sublayers.
        attention_dropout: Rate on attention weights.
        layer_norm_epsilon: Added to the variance in layer normalization.
        activation: Of the feed-forward layers: `"gelu"` (exact, with erf, as
            in Hugging Face checkpoints), `"gelu_tanh"` (the approximation in
            Google's TF1 code), `"relu"`, `"silu"` or `"tanh"`.
        num_groups: How many blocks there are: layers in a row share one
            (ALBERT: 1); `None`, one block a layer. Must divide `num_layers`.
        relative_positions: DeBERTa's disentangled attention; `None` for the
            plain one.
        convolution_size: Tokens that the convolution beside the first block
            sees (DeBERTa-v2 xlarge: 3); 0 for none.
        convolution_groups: Groups of its channels.
        convolution_activation: Its activation.
        pooling: How `pooled_output` is made: `"first_token"` (with a tanh
            dense layer, as BERT), `"mean"`, `"max"`, `"attention"`, or `None`
            for an encoder without it.
        initializer_range: Standard deviation of the truncated normal that
            weights start from.
        family: The architecture, as Hugging Face names it: the layout in which
            the weights are saved, and the form of a new head. The arithmetic
            of the encoder is that of the other fields.

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
    project_before_norm: bool = False
    max_sequence_length: int | None = 512
    position_offset: int = 0
    num_segments: int = 2
    dropout: float = 0.1
    attention_dropout: float = 0.1
    layer_norm_epsilon: float = 1e-12
    activation: str = "gelu"
    num_groups: int | None = None
    relative_positions: RelativePositions | None = None
    convolution_size: int = 0
    convolution_groups: int = 1
    convolution_activation: str = "tanh"
    pooling: str | None = "first_token"
    initializer_range: float = 0.02
    family: str = "bert"

    def __post_init__(self) -> None:
        for name in (
            "vocabulary_size",
            "num_layers",
            "num_heads",
            "hidden_dim",
            "intermediate_dim",
            "convolution_groups",
        ):
            check_positive(name, getattr(self, name))
        for name in ("embedding_dim", "max_sequence_length"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        for name in ("num_segments", "position_offset", "convolution_size"):
            check_not_negative(name, getattr(self, name))
        check_groups(self.num_layers, self.num_groups)
        check_heads(self.hidden_dim, self.num_heads)
        check_rate("dropout", self.dropout)
        check_rate("attention_dropout", self.attention_dropout)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("convolution_activation", self.convolution_activation, ACTIVATIONS)
        check_choice("pooling", self.pooling, (*POOLINGS, None))
        check_choice("family", self.family, tuple(FAMILIES))
        object.__setattr__(
            self, "relative_positions", relative_positions_of(self.relative_positions)
        )

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
        fields = dataclasses.asdict(self)
        relative = relative_positions_dict(self.relative_positions)
        return {**fields, "relative_positions": relative}


def check_positive(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"`{name}` must be a positive integer. Received: {value!r}")


def check_not_negative(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(
            f"`{name}` must be a whole number, 0 or more. Received: {value!r}"
        )


def check_groups(num_layers: int, num_groups: int | None) -> None:
    if num_groups is None:
        return
    check_positive("num_groups", num_groups)
    if num_layers % num_groups:
        raise ValueError(
            "`num_groups` must divide `num_layers`. "
            f"Received: num_groups={num_groups}, num_layers={num_layers}"
        )


def relative_positions_of(value: Any) -> RelativePositions | None:
    """Returns relative positions given as such or, from JSON, as a dictionary."""
    if value is None or isinstance(value, RelativePositions):
        return value
    if not isinstance(value, dict):
        raise ValueError(
            f"`relative_positions` must be `RelativePositions`. Received: {value!r}"
        )
    return RelativePositions(**value)


def relative_positions_dict(value: RelativePositions | None) -> dict[str, Any] | None:
    """Returns the fields as JSON has them, or None."""
    if value is None:
        return None
    return {**dataclasses.asdict(value), "terms": list(value.terms)}


def check_rate(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f"`{name}` must be in [0, 1). Received: {value!r}")


def check_share(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise ValueError(f"`{name}` must be in [0, 1]. Received: {value!r}")


def check_number(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise ValueError(f"`{name}` must be a finite number. Received: {value!r}")


def check_between(name: str, value: Any, low: float, high: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not low < value < high:
        raise ValueError(
            f"`{name}` must be between {low} and {high}, both excluded. "
            f"Received: {value!r}"
        )


def check_choice(name: str, value: Any, choices: tuple) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {choices}. Received: {value!r}")


def check_heads(hidden_dim: int, num_heads: int) -> None:
    if hidden_dim % num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. "
            f"Received: num_heads={num_heads}, hidden_dim={hidden_dim}"
        )
