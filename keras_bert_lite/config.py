"""The configuration of an encoder, and the published sizes."""

import dataclasses
from typing import Any

from keras_bert_lite.checks import (
    check_above_zero,
    check_bias_buckets,
    check_bool,
    check_choice,
    check_distances,
    check_key_value_heads,
    check_not_negative,
    check_positive,
    check_rate,
    check_rotary,
    check_terms,
)
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.presets import PUBLISHED

__all__ = [
    "Biases",
    "EncoderConfig",
    "LocalAttention",
    "Norms",
    "RelativeBias",
    "RelativePositions",
    "Rotary",
    "encoder_config",
]

ACTIVATIONS = ("gelu", "gelu_tanh", "relu", "silu", "tanh")
MOST_LAYERS = 512  # ten times those of the deepest published encoder
RELATIVE_TERMS = ("c2p", "p2c")
POOLINGS = (  # see `layers.Pooler`
    *("cls", "cls_dense", "mean", "max", "attention"),
    *("mean_sqrt_len", "weighted_mean", "last"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativePositions:
    """The relative positions of DeBERTa's disentangled attention.

    Args:
        max_distance: The largest distance (M); larger ones are clipped to it.
        buckets: The number of buckets per direction (k). Distances up to `k / 2`
            have a vector each, and larger ones share vectors by the logarithm of
            the distance. `None`: every distance has its own vector.
        terms: The position terms of the scores: `"c2p"`, content to position, and
            `"p2c"`, position to content. The scores are scaled by their number.
        share_projections: Whether positions use the projections of the content,
            `key` and `query`. Otherwise they have `position_key` and
            `position_query`, one for each term.
        normalize: Whether the position embeddings are layer-normalized.

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
        check_distances(self.max_distance, self.buckets)
        check_terms(self.terms, RELATIVE_TERMS)
        object.__setattr__(self, "terms", tuple(self.terms))
        check_bool("share_projections", self.share_projections)
        check_bool("normalize", self.normalize)

    @property
    def span(self) -> int:
        """Half the number of relative position embeddings."""
        return self.buckets or self.max_distance


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativeBias:
    """A learned bias for each head and distance, added to the attention scores.

    One table serves all layers (MPNet, T5).

    Args:
        num_buckets: Rows of the table, half of them for keys after the query. In
            each half, the smaller distances have one row each.
        max_distance: All distances from here on share one row.

    Raises:
        ValueError: If a value is out of its range.

    Reference: [Raffel et al., 2020](https://arxiv.org/abs/1910.10683), section 2.1.
    """

    num_buckets: int = 32
    max_distance: int = 128

    def __post_init__(self) -> None:
        check_bias_buckets(self.num_buckets, self.max_distance)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rotary:
    """Rotary positions: queries and keys are rotated by their position.

    Args:
        base: The base in layers without local attention; see `layers.RotaryPositions`.
        local_base: The base in layers with local attention; `None`: the same.
        scale, share: Those of all layers.

    Raises:
        ValueError: If a value is not a positive number, or `share` above 1.

    Reference: [Su et al., 2021](https://arxiv.org/abs/2104.09864), section 3.2; the
    scale: [Chen et al., 2023](https://arxiv.org/abs/2306.15595), section 2.2.
    """

    base: float = 160_000.0
    local_base: float | None = 10_000.0
    scale: float = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        check_rotary(self.base, self.scale, self.share)
        if self.local_base is not None:
            check_above_zero("local_base", self.local_base)
        if self.local_base == self.base:  # one form for what is the same
            object.__setattr__(self, "local_base", None)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalAttention:
    """Layers that attend only to nearby tokens.

    Args:
        window: The attention window: tokens attend to positions that are at most
            `window // 2` away.
        global_every: The interval of layers with global attention, starting with
            the first layer.

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
    """The layer normalizations of an encoder.

    Args:
        before: Whether the inputs of attention and of the feed-forward network are
            normalized (pre-norm).
        after: Whether the residual sums are normalized (post-norm).
        first: Whether `before` also applies to the attention of the first block.
            ModernBERT's embeddings are already normalized.
        final: Whether the output of the last block is normalized.
        bias: Whether normalizations have a bias, including that of the embeddings.
        embeddings: Whether the embeddings are normalized.
        rms: Whether to divide by the root mean square alone, without a mean
            (EuroBERT); they have no bias then.

    Raises:
        ValueError: If a value is not a boolean, or `rms` is true and `bias` too.

    Reference: [Xiong et al., 2020](https://arxiv.org/abs/2002.04745), figure 1; root
    mean squares: [Zhang and Sennrich, 2019](https://arxiv.org/abs/1910.07467).
    """

    before: bool = False
    after: bool = True
    first: bool = True
    final: bool = False
    bias: bool = True
    embeddings: bool = True
    rms: bool = False

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            check_bool(field.name, getattr(self, field.name))
        if self.rms and self.bias:
            raise ValueError("`bias` must be False with `rms`. Received: True")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Biases:
    """Which dense layers of a block have a bias.

    Args:
        query: The query projection of content and positions.
        key: The key projection of content and positions.
        value: The value projection.
        attention_output: The output projection of attention.
        intermediate: The feed-forward layers with `intermediate_dim` units.
        output: The feed-forward layer with `hidden_dim` units.

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
    """The configuration of an encoder: sizes, dropout rates and architecture.

    Args:
        vocabulary_size: Number of token embeddings.
        num_layers: Number of encoder layers, at most 512.
        num_heads: Number of attention heads; must divide `hidden_dim`.
        num_key_value_heads: Number of heads of keys and values, each shared by as
            many consecutive heads of queries (EuroBERT); must divide `num_heads`.
            `None`: every head has its own.
        hidden_dim: Width of the hidden states (H).
        intermediate_dim: Width of the feed-forward layers.
        embedding_dim: Width of factorized embeddings (ALBERT, ELECTRA); `None`
            means `hidden_dim` and no projection.
        project_before_norm: Whether the projection from `embedding_dim` comes
            before the layer normalization and has no bias (DeBERTa), or after
            it (ALBERT, ELECTRA).
        max_sequence_length: Maximum sequence length; `None` for an encoder without
            absolute positions, which takes any length. With `rotary` there is no
            table of positions: preprocessors keep to this length, and the layers
            take longer rows too.
        position_offset: Index of the first position embedding (RoBERTa: 2, one
            more than the id of the padding token).
        num_segments: Number of segment embeddings; 0 for none.
        num_task_types: Number of task-type embeddings (ERNIE); 0 for none. All
            inputs have type 0.
        dropout: Dropout rate of the embeddings and of the sublayers' outputs.
        attention_dropout: Dropout rate of the attention weights.
        layer_norm_epsilon: Added to the variance in layer normalization.
        activation: Activation of the feed-forward layers: `"gelu"` (exact, with
            erf, as in Hugging Face checkpoints), `"gelu_tanh"` (the approximation in
            Google's TF1 code), `"relu"`, `"silu"` or `"tanh"`.
        gated: Whether the feed-forward layers are gated (ModernBERT); see
            `layers.FeedForward`.
        num_groups: Number of blocks; consecutive layers share one (ALBERT: 1).
            Must divide `num_layers`. `None`: every layer has its own block.
        relative_positions: DeBERTa's disentangled attention; `None` for plain
            attention.
        relative_bias: Biases added to the attention scores by distance (MPNet);
            `None` for none.
        rotary: Rotary positions (ModernBERT); `None` for none.
        local_attention: Local attention (ModernBERT); `None`: all layers attend to
            all tokens.
        norms: The layer normalizations.
        biases: Which dense layers of the blocks have biases.
        convolution_size: Kernel size of the convolution next to the first block
            (DeBERTa-v2 xlarge: 3); 0 for none.
        convolution_groups: Number of channel groups of the convolution.
        convolution_activation: Activation of the convolution.
        pooling: How `pooled_output` is computed, one of `POOLINGS`; see
            `layers.Pooler`. `None`: there is no pooled output.
        initializer_range: Standard deviation of the truncated normal initializer.
        family: The architecture by its name at Hugging Face. It determines the
            layout of saved weights and the form of new heads. The other fields
            determine what the encoder computes.

    The fields of `PARTS` also take dictionaries, as in JSON. They combine freely,
    except rotary and relative positions. Rotary positions replace absolute ones.

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
    num_key_value_heads: int | None = None
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
        if self.num_layers > MOST_LAYERS:
            raise ValueError(
                f"`num_layers` must be at most {MOST_LAYERS}. "
                f"Received: {self.num_layers}"
            )
        _check_groups(self.num_layers, self.num_groups)
        _check_heads(self)
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

    @property
    def num_positions(self) -> int:
        """The number of position embeddings; 0 if there is no table of them."""
        if self.rotary is not None or self.max_sequence_length is None:
            return 0
        return self.max_sequence_length + self.position_offset

    def window(self, layer: int) -> int | None:
        """Returns the attention window of a layer; `None` if it is global."""
        local = self.local_attention
        return None if local is None or not layer % local.global_every else local.window

    def rotary_base(self, layer: int) -> float | None:
        """Returns the base of a layer's rotary positions; `None` if it has none."""
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
    """Returns a configuration, which may be given as a dictionary.

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
    """Returns a part of a configuration, which may be given as a dictionary."""
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
            "`num_groups` must be None with `local_attention`. "
            f"Received: num_groups={config.num_groups}"
        )
    if config.num_key_value_heads is not None and config.relative_positions is not None:
        raise ValueError(
            "`num_key_value_heads` must be None with `relative_positions`. "
            f"Received: {config.num_key_value_heads}"
        )
    if config.rotary is None:
        return
    if config.relative_positions is not None:
        raise ValueError(
            "`rotary` must be None with `relative_positions`. "
            f"Received: {config.rotary!r}"
        )
    if config.hidden_dim // config.num_heads % 2:
        raise ValueError(
            "`rotary` needs heads of an even size. Received: "
            f"hidden_dim={config.hidden_dim}, num_heads={config.num_heads}"
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


def _check_heads(config: EncoderConfig) -> None:
    if config.hidden_dim % config.num_heads:
        raise ValueError(
            "`num_heads` must divide `hidden_dim`. "
            f"Received: num_heads={config.num_heads}, hidden_dim={config.hidden_dim}"
        )
    shared = config.num_key_value_heads
    if shared is None:
        return
    check_key_value_heads(shared, config.num_heads)
    if shared == config.num_heads:  # one form for what is the same
        object.__setattr__(config, "num_key_value_heads", None)
