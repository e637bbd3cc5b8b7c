"""ELECTRA's generator and the embeddings that it shares with the encoder."""

import functools
from collections.abc import Callable
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_model import (
    GENERATOR,
    connect_blocks,
    copy_weights,
    encoder as make_encoder,
    encoder_layers,
)
from keras_bert_lite.tasks.masked_lm import (
    masked_lm,
    masked_lm_head,
    word_scores,
)

SHARED_EMBEDDINGS = "shared_embeddings"


class Copied:
    """Copies layers now, and their weights once the copies are built."""

    def __init__(self) -> None:
        self._pairs: list[tuple[keras.layers.Layer, keras.layers.Layer]] = []

    def of(self, layer: keras.layers.Layer) -> Any:
        """Returns a copy of a layer, with the generator's name prefix."""
        name = GENERATOR + layer.name
        new = type(layer).from_config({**layer.get_config(), "name": name})
        self._pairs.append((new, layer))
        return new

    def fill(self) -> None:
        for new, layer in self._pairs:
            copy_weights(layer, new)


def as_masked_lm(
    config: EncoderConfig, generator: EncoderConfig | keras.Model | None
) -> keras.Model:
    """Returns the masked language model to copy the generator from.

    Raises:
        ValueError: If it has no such head, or an untied output layer.
    """
    if isinstance(generator, keras.Model):
        if isinstance(masked_lm_head(generator)[1], keras.layers.Dense):
            raise ValueError(
                "`generator` must score words against its own embeddings. Received: "
                f"{generator.name!r}, whose output layer has weights of its own"
            )
        return generator
    return masked_lm(make_encoder(generator or _quarter(config)))


def _quarter(config: EncoderConfig) -> EncoderConfig:
    """Divides heads and widths by four, except the embeddings' width."""
    heads = max(1, config.num_heads // 4)
    return config.replace(
        num_heads=heads,
        num_key_value_heads=None,
        hidden_dim=config.hidden_dim // config.num_heads * heads,
        intermediate_dim=max(1, config.intermediate_dim // 4),
        embedding_dim=config.embedding_dim or config.hidden_dim,
        pooling=None,
    )


def check_sizes(config: EncoderConfig, small: EncoderConfig, sharing: str) -> None:
    """Raises an error if a generator cannot share an encoder's embeddings."""
    names = ["vocabulary_size"]
    if sharing == "tied":
        names += ["max_sequence_length", "num_segments", "position_offset"]
    ours, theirs = ({x: getattr(c, x) for x in names} for c in (config, small))
    if sharing != "none":
        ours["embedding_dim"] = config.embedding_dim or config.hidden_dim
        theirs["embedding_dim"] = small.embedding_dim or small.hidden_dim
    if ours != theirs:
        raise ValueError(
            f"`generator` must have the encoder's {ours} to share embeddings "
            f"({sharing!r}). Received: {theirs}"
        )
    if sharing == "tied" and (config.project_before_norm or small.project_before_norm):
        raise ValueError(
            "`sharing` must not be 'tied' if the embeddings are projected before "
            "they are normalized. Received: project_before_norm=True"
        )


def shared_embedding(
    embeddings: layers.Embeddings, small: keras.Model, sharing: str, copied: Copied
) -> tuple[Callable, Callable, keras.layers.Layer]:
    """Returns how to embed for the generator and the encoder, and the layer."""
    own = encoder_layers(small)[0]
    if sharing == "none":
        tables = copied.of(own)
        return tables, embeddings, tables
    if sharing == "gradient_disentangled":
        sides = {
            name: layers.Embeddings.from_config({**layer.get_config(), "name": name})
            for name, layer in {"generator": own, "discriminator": embeddings}.items()
        }
        both: Any = layers.GradientDisentangledEmbeddings(
            **sides, name=SHARED_EMBEDDINGS
        )
        return functools.partial(both, side="generator"), both, both
    return embeddings, embeddings, embeddings


def generator_scores(
    small: keras.Model,
    inputs: dict[str, keras.KerasTensor],
    x: keras.KerasTensor,
    table: keras.KerasTensor,
    copied: Copied,
) -> tuple[keras.KerasTensor, tuple[keras.layers.Layer, keras.layers.Layer]]:
    """Returns the generator's logits at masked positions, (B, P, V), and its head."""
    blocks = copied.of(encoder_layers(small)[1])
    states = connect_blocks(inputs, x, blocks)["sequence_output"]
    take = layers.TakePositions(name=GENERATOR + "masked_tokens")
    transform, bias = masked_lm_head(small)
    head = copied.of(transform), copied.of(bias)
    tokens = take(states, inputs["masked_positions"])
    name = GENERATOR + "vocabulary_scores"
    return word_scores(table, *head, tokens, name=name), head


def divide_tables(
    both: layers.GradientDisentangledEmbeddings,
    embeddings: layers.Embeddings,
    trained: bool,
) -> None:
    """Fills both sides so that their token tables add up to the encoder's."""
    copy_weights(embeddings, both.discriminator)
    sides = (both.generator, both.discriminator)
    table, rest = (x.token_embedding.embeddings for x in sides)
    if not trained:
        table.assign(rest)
    rest.assign(rest - table)


def united_embeddings(both: layers.GradientDisentangledEmbeddings) -> layers.Embeddings:
    """Returns the encoder's embeddings with the sum of both token tables."""
    config = {**both.discriminator.get_config(), "name": "embeddings"}
    embeddings = layers.Embeddings.from_config(config)
    embeddings.build((None, None))
    copy_weights(both.discriminator, embeddings)
    table = embeddings.token_embedding.embeddings
    table.assign(table + both.generator.token_embedding.embeddings)
    return embeddings
