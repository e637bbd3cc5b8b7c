"""A smaller encoder out of a larger one's layers."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from keras_bert_lite.config import check_choice
from keras_bert_lite.models.encoder import (
    check_plain_weights,
    config_of,
    copy_weights,
    encoder,
    encoder_layers,
    encoder_of,
)

EMBEDDING_PARTS = (
    "token_embedding",
    "segment_embedding",
    "position_embedding",
    "task_embedding",
    "layer_norm",
    "projection",
)


def take_layers(
    model: keras.Model, layers: Sequence[int], family: str | None = None
) -> keras.Model:
    """Returns an encoder of some of the blocks of another, with copies of weights.

    Args:
        model: An encoder, or a model with one in it.
        layers: Which blocks, counted from 0, in their new order. DistilBERT was
            initialized from `[0, 2, 4, 7, 9, 11]` of a BERT base.
        family: `"distilbert"` makes a BERT a DistilBERT, which has neither
            segments nor a pooler: their weights are left out, as its authors
            did. `None` keeps the family.

    Raises:
        ValueError: If a block is not there, the encoder shares its blocks, is
            quantized or has LoRA, or is no BERT but is to be a DistilBERT.

    Reference: [Sanh et al., 2019](https://arxiv.org/abs/1910.01108), section 3.
    """
    body = encoder_of(model)
    config = config_of(body)
    embeddings, blocks, pooler = encoder_layers(body)
    check_choice("family", family, ("distilbert", None))
    check_plain_weights(body)
    if family is not None and config.family != "bert":
        raise ValueError(
            "`family` must be None but for a BERT. "
            f"Received: {family!r} and an encoder of the family {config.family!r}"
        )
    if config.num_groups is not None:
        raise ValueError(
            "`model` must have a block for each layer. "
            f"Received: num_groups={config.num_groups}"
        )
    count = config.num_layers
    if not layers or any(not 0 <= i < count for i in layers):
        raise ValueError(
            f"`layers` must be numbers from 0 to {count - 1}. Received: {layers!r}"
        )
    config = config.replace(num_layers=len(layers), family=family or config.family)
    if family == "distilbert":
        config = config.replace(num_segments=0, pooling=None)
    with _policy(blocks.dtype_policy):
        smaller = encoder(config)
    new_embeddings, new_blocks, new_pooler = encoder_layers(smaller)
    pairs: list[Any] = list(
        zip(new_blocks.blocks, (blocks.blocks[i] for i in layers), strict=True)
    )
    if new_pooler is not None:
        pairs.append((new_pooler, pooler))
    for name in ("relative_table", "relative_bias", "convolution", "final_norm"):
        if getattr(blocks, name) is not None:
            pairs.append((getattr(new_blocks, name), getattr(blocks, name)))
    for name in EMBEDDING_PARTS:
        if getattr(new_embeddings, name) is not None:
            pairs.append((getattr(new_embeddings, name), getattr(embeddings, name)))
    for target, source in pairs:
        copy_weights(source, target)
    return smaller


@contextlib.contextmanager
def _policy(policy: keras.DTypePolicy) -> Iterator[None]:
    """Makes layers inside of a policy, as another layer is."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
