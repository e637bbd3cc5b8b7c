"""What an encoder costs: parameters, memory, floating-point operations."""

import os
from typing import Any

from keras_bert_lite.checkpoints.load import load_encoder
from keras_bert_lite.checks import check_positive
from keras_bert_lite.models.encoder_model import config_of, encoder_layers

FLOAT32 = 4  # bytes
PER_WEIGHT = 2  # floating-point operations: a product and a sum


def summary(source: str | os.PathLike, length: int = 128) -> dict[str, Any]:
    """Describes the encoder of a checkpoint.

    Args:
        source: See `load_encoder`.
        length: The tokens of a row, for what attention costs.

    Returns:
        A dictionary: `family`; the sizes `num_layers`, `num_heads`, `hidden_dim`,
        `intermediate_dim`, `vocabulary_size` and `max_sequence_length`; `parameters`,
        of the embeddings, of the blocks and in all; `megabytes` of the weights in
        float32; and `flops_per_token`, the floating-point operations of the blocks'
        matrix products and of attention, for each token of a full row.

    Raises:
        ValueError: If `length` is not above 0.

    Example:

    >>> found = kbl.summary("bert_mini_books")
    >>> found["hidden_dim"]
    256
    """
    check_positive("length", length)
    model = load_encoder(source)
    config = config_of(model)
    embeddings, blocks, pooler = encoder_layers(model)
    counts = {"embeddings": embeddings.count_params(), "blocks": blocks.count_params()}
    if pooler is not None:
        counts["pooler"] = pooler.count_params()
    total = sum(counts.values())
    matrices = sum(int(x.shape[0] * x.shape[1]) for x in blocks.weights if x.ndim == 2)
    attention = 2 * PER_WEIGHT * length * config.hidden_dim * config.num_layers
    sizes = (
        "num_layers",
        "num_heads",
        "hidden_dim",
        "intermediate_dim",
        "vocabulary_size",
        "max_sequence_length",
    )
    return {
        "family": config.family,
        **{name: getattr(config, name) for name in sizes},
        "parameters": {**counts, "all": total},
        "megabytes": round(FLOAT32 * total / 1e6, 1),
        "flops_per_token": PER_WEIGHT * matrices + attention,
    }
