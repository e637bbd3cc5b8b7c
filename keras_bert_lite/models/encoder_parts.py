"""From a configuration to the layers of an encoder, which is read only here.

Heads, which are not part of an encoder, read the few fields that they share with it.

A field of `EncoderConfig` that changes what an encoder computes is an argument of a
layer; this is where the one becomes the other.
"""

from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.base import Initializer


def make_embeddings(
    config: EncoderConfig, name: str = "embeddings"
) -> layers.Embeddings:
    """Returns the embeddings of an encoder, not built."""
    projects = config.embedding_dim is not None and config.project_before_norm
    width = config.hidden_dim if projects else config.embedding_dim or config.hidden_dim
    return layers.Embeddings(
        config.vocabulary_size,
        width,
        max_sequence_length=_positions(config),
        position_offset=config.position_offset,
        num_segments=config.num_segments,
        num_task_types=config.num_task_types,
        embedding_dim=config.embedding_dim if projects else None,
        layer_norm=config.norms.embeddings and _norm(config, "layer_norm"),
        dropout=config.dropout,
        initializer_range=config.initializer_range,
        name=name,
    )


def _positions(config: EncoderConfig) -> int | None:
    """Returns the number of positions, or `None` if rotations give any number."""
    return config.max_sequence_length if config.rotary is None else None


def make_blocks(
    config: EncoderConfig, name: str = "blocks", **options: Any
) -> layers.Encoder:
    """Returns the blocks of an encoder, not built.

    Args:
        config: The configuration.
        name: Name of the layer.
        **options: Arguments of `layers.Encoder` that are not about its parts.
    """
    projection = None
    if config.embedding_dim is not None and not config.project_before_norm:
        projection = keras.layers.Dense(
            config.hidden_dim,
            kernel_initializer=Initializer(stddev=config.initializer_range),
            name="projection",
        )
    return layers.Encoder(
        config.num_layers,
        blocks=[
            make_block(config, i) for i in range(config.num_groups or config.num_layers)
        ],
        projection=projection,
        relative_table=make_relative_table(config),
        relative_bias=make_relative_bias(config),
        convolution=make_convolution(config),
        final_norm=config.norms.final and _norm(config, "final_norm"),
        max_sequence_length=_positions(config),
        config=config,
        name=name,
        **options,
    )


def make_block(config: EncoderConfig, layer: int = 0) -> layers.EncoderBlock:
    """Returns a block of an encoder, not built.

    Args:
        config: The configuration.
        layer: The index of its encoder layer, from 0.
    """
    norms = config.norms
    slots = {
        "attention_input_norm": norms.before and (norms.first or layer > 0),
        "attention_norm": norms.after,
        "feed_forward_input_norm": norms.before,
        "output_norm": norms.after,
    }
    return layers.EncoderBlock(
        dropout=config.dropout,
        attention=make_attention(config, layer),
        feed_forward=make_feed_forward(config),
        norms={name: _norm(config, name) for name, used in slots.items() if used},
        name=f"block_{layer}",
    )


def make_attention(config: EncoderConfig, layer: int = 0) -> layers.SelfAttention:
    """Returns the attention of a block, not built; see `make_block`."""
    biases = {
        "query": config.biases.query,
        "key": config.biases.key,
        "value": config.biases.value,
        "output": config.biases.attention_output,
    }
    options: dict[str, Any] = {
        "window": config.window(layer),
        "dropout": config.attention_dropout,
        "use_bias": [name for name, used in biases.items() if used],
        "initializer_range": config.initializer_range,
        "name": "attention",
    }
    relative = config.relative_positions
    if relative is not None:
        return layers.DisentangledAttention(
            config.num_heads,
            relative.max_distance,
            buckets=relative.buckets,
            terms=relative.terms,
            share_projections=relative.share_projections,
            position_dropout=config.dropout,
            **options,
        )
    rotary, base = config.rotary, config.rotary_base(layer)
    if rotary is not None and base is not None:
        options["rotary"] = layers.RotaryPositions(base, rotary.scale, rotary.share)
    return layers.SelfAttention(config.num_heads, config.num_key_value_heads, **options)


def make_feed_forward(config: EncoderConfig) -> layers.FeedForward:
    """Returns the feed-forward network of a block, not built."""
    biases = {
        "intermediate": config.biases.intermediate,
        "output": config.biases.output,
    }
    return layers.FeedForward(
        config.intermediate_dim,
        activation=config.activation,
        gated=config.gated,
        use_bias=[name for name, used in biases.items() if used],
        initializer_range=config.initializer_range,
        name="feed_forward",
    )


def make_pooler(config: EncoderConfig) -> layers.Pooler | None:
    """Returns the pooler of an encoder, not built, or `None` if it has none."""
    if config.pooling is None:
        return None
    return layers.Pooler(config.pooling, config.initializer_range, name="pooler")


def _norm(config: EncoderConfig, name: str) -> keras.layers.Layer:
    epsilon = config.layer_norm_epsilon
    if config.norms.rms:
        return keras.layers.RMSNormalization(epsilon=epsilon, name=name)
    return layers.LayerNorm(epsilon, center=config.norms.bias, name=name)


def make_relative_table(config: EncoderConfig) -> layers.RelativeTable | None:
    """Returns the relative embeddings of DeBERTa, not built, or `None`."""
    relative = config.relative_positions
    if relative is None:
        return None
    return layers.RelativeTable(
        relative.span,
        layer_norm=relative.normalize and _norm(config, "layer_norm"),
        initializer_range=config.initializer_range,
        name="relative_table",
    )


def make_relative_bias(config: EncoderConfig) -> layers.RelativeBiasTable | None:
    """Returns the biases of relative positions, not built, or `None`."""
    bias = config.relative_bias
    if bias is None:
        return None
    return layers.RelativeBiasTable(
        config.num_heads,
        bias.num_buckets,
        bias.max_distance,
        initializer_range=config.initializer_range,
        name="relative_bias",
    )


def make_convolution(config: EncoderConfig) -> layers.TokenConvolution | None:
    """Returns the convolution beside the first block, not built, or `None`."""
    if not config.convolution_size:
        return None
    return layers.TokenConvolution(
        config.convolution_size,
        groups=config.convolution_groups,
        activation=config.convolution_activation,
        dropout=config.dropout,
        norm=_norm(config, "norm"),
        initializer_range=config.initializer_range,
        name="convolution",
    )
