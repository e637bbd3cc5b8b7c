"""The configuration of an encoder, and the published sizes."""

import dataclasses
from typing import Any

from keras_bert_lite.checks import (
    check_above_zero,
    check_bool,
    check_choice,
    check_not_negative,
    check_positive,
    check_rate,
)
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.presets import PUBLISHED

ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "silu", "tanh")
RELATIVE_TERMS = ("c2p", "p2c")
POOLINGS = ("cls", "cls_dense", "mean", "max", "attention")  # see `layers.Pooler`


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativePositions:
    """How DeBERTa's attention knows where tokens stand to each other.

    Args:
        max_distance: Tokens further apart count as this far apart (M).
        buckets: Buckets in each direction (k): distances up to `k / 2` have a
            vector each, greater ones share vectors by the logarithm of the
            distance; `None`: each distance has its own.
        terms: What attends by position: `"c2p"`, content to position;
            `"p2c"`, position to content. The more, the smaller each score.
        share_projections: Whether positions are projected by the weights that
            project the content, `key` and `query`, or by `position_key` and
            `position_query`, each there if its term is.
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
            _check_buckets(self.buckets, self.max_distance)
        object.__setattr__(self, "terms", tuple(self.terms))
        for term in self.terms:
            check_choice("terms", term, RELATIVE_TERMS)
        check_bool("share_projections", self.share_projections)
        check_bool("normalize", self.normalize)

    @property
    def span(self) -> int:
        """Half the rows of the table of relative positions."""
        return self.buckets or self.max_distance


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativeBias:
    """A learned number for each head and distance, added to attention's scores.

    One table serves all layers (MPNet, T5).

    Args:
        num_buckets: Rows of the table: half of them for keys after the query,
            and of each half one half for a distance each.
        max_distance: The distance from which on all share a row.

    Raises:
        ValueError: If a value is out of its range.

    Reference: [Raffel et al., 2020](https://arxiv.org/abs/1910.10683), section 2.1.
    """

    num_buckets: int = 32
    max_distance: int = 128

    def __post_init__(self) -> None:
        check_positive("num_buckets", self.num_buckets)
        check_positive("max_distance", self.max_distance)
        if self.num_buckets % 4 or self.max_distance <= self.num_buckets // 4:
            raise ValueError(
                "`num_buckets` must be a multiple of 4, and a fourth of it less than "
                f"`max_distance`. Received: num_buckets={self.num_buckets}, "
                f"max_distance={self.max_distance}"
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rotary:
    """Positions by rotation: queries and keys are turned by angles that grow.

    Args:
        base: Of the wavelengths (theta): the greater, the slower they turn.
        local_base: That of layers whose attention is local; `None`: the same.

    Raises:
        ValueError: If a value is not a positive number.

    Reference: [Su et al., 2021](https://arxiv.org/abs/2104.09864), section 3.2.
    """

    base: float = 160_000.0
    local_base: float | None = 10_000.0

    def __post_init__(self) -> None:
        check_above_zero("base", self.base)
        if self.local_base is not None:
            check_above_zero("local_base", self.local_base)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalAttention:
    """Which layers attend only to tokens near by.

    Args:
        window: How many tokens a token sees, half of them on each side: those
            at most `window // 2` away.
        global_every: Of so many layers the first sees all tokens.

    Raises:
        ValueError: If a value is not a positive integer.

    Reference: [Warner et al., 2024](https://arxiv.org/abs/2412.13663), section 2.1.
    """

    window: int = 128
    global_every: int = 3

    def __post_init__(self) -> None:
        check_positive("window", self.window)
        check_positive("global_every", self.global_every)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Norms:
    """Where an encoder normalizes.

    Args:
        before: Whether the input of attention and of the feed-forward network is
            normalized.
        after: Whether their output is, once added to their input.
        first: Whether the first block normalizes the input of its attention, if
            the others do; ModernBERT's embeddings are normalized already.
        final: Whether the output of the last block is normalized.
        bias: Whether normalizations, the embeddings' too, have a bias.

    Raises:
        ValueError: If a value is not a boolean.

    Reference: [Xiong et al., 2020](https://arxiv.org/abs/2002.04745), figure 1.
    """

    before: bool = False
    after: bool = True
    first: bool = True
    final: bool = False
    bias: bool = True

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_bool(field.name, getattr(self, field.name))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Biases:
    """Which dense layers of a block have a bias.

    Args:
        query: The projection to queries, and that of positions to queries.
        key: The projection to keys, and that of positions to keys.
        value: The projection to values.
        attention_output: The projection of the heads that are joined.
        intermediate: The feed-forward layers to `intermediate_dim`.
        output: The feed-forward layer back to `hidden_dim`.

    Raises:
        ValueError: If a value is not a boolean.
    """

    query: bool = True
    key: bool = True
    value: bool = True
    attention_output: bool = True
    intermediate: bool = True
    output: bool = True

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_bool(field.name, getattr(self, field.name))


# The parts of a configuration, by its fields.
PARTS: dict[str, type] = {
    "relative_positions": RelativePositions,
    "relative_bias": RelativeBias,
    "rotary": Rotary,
    "local_attention": LocalAttention,
    "norms": Norms,
    "biases": Biases,
}


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
        num_task_types: Rows of the task-type embedding (ERNIE); 0 for none.
            Inputs are all of type 0.
        dropout: Rate on embeddings and on the output of sublayers.
        attention_dropout: Rate on attention weights.
        layer_norm_epsilon: Added to the variance in layer normalization.
        activation: Of the feed-forward layers: `"gelu"` (exact, with erf, as
            in Hugging Face checkpoints), `"gelu_tanh"` (the approximation in
            Google's TF1 code), `"relu"`, `"silu"` or `"tanh"`.
        gated: Whether the feed-forward layers are gated (ModernBERT); see
            `layers.FeedForward`.
        num_groups: How many blocks there are: layers in a row share one
            (ALBERT: 1); `None`, one block a layer. Must divide `num_layers`.
        relative_positions: DeBERTa's disentangled attention; `None` for the
            plain one.
        relative_bias: What is added to attention's scores by distance (MPNet);
            `None` for nothing.
        rotary: Positions by rotation (ModernBERT); `None` for none.
        local_attention: Which layers see only tokens near by (ModernBERT);
            `None`: all see all.
        norms: Where normalizations stand.
        biases: Which dense layers of the blocks have biases.
        convolution_size: Tokens that the convolution beside the first block
            sees (DeBERTa-v2 xlarge: 3); 0 for none.
        convolution_groups: Groups of its channels.
        convolution_activation: Its activation.
        pooling: How `pooled_output` is made, one of `POOLINGS`; see
            `layers.Pooler`. `None`: there is none.
        initializer_range: Standard deviation of the truncated normal that
            weights start from.
        family: The architecture, as Hugging Face names it: the layout in which
            the weights are saved, and the form of a new head. The arithmetic
            of the encoder is that of the other fields.

    Those of `PARTS` are given as such or, as JSON has them, as dictionaries.
    They combine in any way, but for rotary and relative positions.

    Raises:
        ValueError: If a value is out of its range.

    Example:

    >>> config = kbl.EncoderConfig.named("bert_base_uncased", dropout=0.2)
    >>> config.num_layers, config.hidden_dim, config.dropout
    (12, 768, 0.2)

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
    num_task_types: int = 0
    dropout: float = 0.1
    attention_dropout: float = 0.1
    layer_norm_epsilon: float = 1e-12
    activation: str = "gelu"
    gated: bool = False
    num_groups: int | None = None
    relative_positions: RelativePositions | None = None
    relative_bias: RelativeBias | None = None
    rotary: Rotary | None = None
    local_attention: LocalAttention | None = None
    norms: Norms = dataclasses.field(default_factory=Norms)
    biases: Biases = dataclasses.field(default_factory=Biases)
    convolution_size: int = 0
    convolution_groups: int = 1
    convolution_activation: str = "tanh"
    pooling: str | None = "cls_dense"
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
        for name in (
            "num_segments",
            "num_task_types",
            "position_offset",
            "convolution_size",
        ):
            check_not_negative(name, getattr(self, name))
        for name in ("layer_norm_epsilon", "initializer_range"):
            check_above_zero(name, getattr(self, name))
        for name in ("project_before_norm", "gated"):
            check_bool(name, getattr(self, name))
        _check_groups(self.num_layers, self.num_groups)
        _check_heads(self.hidden_dim, self.num_heads)
        check_rate("dropout", self.dropout)
        check_rate("attention_dropout", self.attention_dropout)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("convolution_activation", self.convolution_activation, ACTIVATIONS)
        check_choice("pooling", self.pooling, (*POOLINGS, None))
        check_choice("family", self.family, tuple(FAMILIES))
        for name in PARTS:
            object.__setattr__(self, name, _part(name, getattr(self, name)))
        _check_convolution(self)
        _check_combination(self)

    def window(self, layer: int) -> int | None:
        """Returns the window of a layer's attention; `None` if it sees all."""
        local = self.local_attention
        return None if local is None or not layer % local.global_every else local.window

    def rotary_base(self, layer: int) -> float | None:
        """Returns the base of a layer's rotations; `None` if it has none."""
        if self.rotary is None:
            return None
        local = self.window(layer) is not None
        return (self.rotary.local_base if local else None) or self.rotary.base

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
        if self.relative_positions is not None:  # JSON has no tuples
            fields["relative_positions"]["terms"] = list(self.relative_positions.terms)
        return fields


def encoder_config(value: Any) -> EncoderConfig:
    """Returns a configuration given as such or, from JSON, as a dictionary.

    Raises:
        TypeError: If it is neither.
        ValueError: If a field is out of its range.
    """
    if isinstance(value, EncoderConfig):
        return value
    if not isinstance(value, dict):
        raise TypeError(f"`config` must be an `EncoderConfig`. Received: {value!r}")
    return EncoderConfig(**value)


def _part(name: str, value: Any) -> Any:
    """Returns a part given as such or, from JSON, as a dictionary."""
    kind = PARTS[name]
    if isinstance(value, dict):
        return kind(**value)
    absent = value is None and name not in ("norms", "biases")
    if not absent and not isinstance(value, kind):
        raise ValueError(f"`{name}` must be `{kind.__name__}`. Received: {value!r}")
    return value


def _check_convolution(config: EncoderConfig) -> None:
    size, groups = config.convolution_size, config.convolution_groups
    if size and size % 2 == 0:
        raise ValueError(f"`convolution_size` must be odd or 0. Received: {size}")
    if size and config.hidden_dim % groups:
        raise ValueError(
            "`convolution_groups` must divide `hidden_dim`. Received: "
            f"convolution_groups={groups}, hidden_dim={config.hidden_dim}"
        )


def _check_combination(config: EncoderConfig) -> None:
    if config.local_attention is not None and config.num_groups is not None:
        raise ValueError(
            "`local_attention` needs a block for each layer. "
            f"Received: num_groups={config.num_groups}"
        )
    if config.rotary is None:
        return
    if config.relative_positions is not None:
        raise ValueError(
            "`rotary` must be None with `relative_positions`, whose scores are of "
            f"vectors that nothing turned. Received: {config.rotary!r}"
        )
    if config.hidden_dim // config.num_heads % 2:
        raise ValueError(
            "`rotary` needs heads of an even size. Received: "
            f"hidden_dim={config.hidden_dim}, num_heads={config.num_heads}"
        )


def _check_buckets(buckets: int, max_distance: int) -> None:
    check_positive("buckets", buckets)
    if buckets < 2 or max_distance <= buckets // 2 + 1:
        raise ValueError(
            "`buckets` must be at least 2, and half of it less than `max_distance` "
            f"- 1. Received: buckets={buckets}, max_distance={max_distance}"
        )


def _check_groups(num_layers: int, num_groups: int | None) -> None:
    if num_groups is None:
        return
    check_positive("num_groups", num_groups)
    if num_layers % num_groups:
        raise ValueError(
            "`num_groups` must divide `num_layers`. "
            f"Received: num_groups={num_groups}, num_layers={num_layers}"
        )


def _check_heads(hidden_dim: int, num_heads: int) -> None:
    if hidden_dim % num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. "
            f"Received: num_heads={num_heads}, hidden_dim={hidden_dim}"
        )
