"""Configuration fields, named by Google and kept by Hugging Face."""

from collections.abc import Mapping
from typing import Any

from keras_bert_lite.config import EncoderConfig

CONFIG = "config.json"
CHANGEABLE = ("dropout", "attention_dropout")
# Marks a field without a default.
REQUIRED = object()
# Our field -> the name in config.json, and the default.
FIELDS: dict[str, tuple[str, Any]] = {
    "vocabulary_size": ("vocab_size", REQUIRED),
    "num_layers": ("num_hidden_layers", REQUIRED),
    "num_heads": ("num_attention_heads", REQUIRED),
    "hidden_dim": ("hidden_size", REQUIRED),
    "intermediate_dim": ("intermediate_size", REQUIRED),
    "max_sequence_length": ("max_position_embeddings", 512),
    "num_segments": ("type_vocab_size", 2),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
    "initializer_range": ("initializer_range", 0.02),
    "activation": ("hidden_act", "gelu"),
}


def changed(config: EncoderConfig, changes: dict[str, Any]) -> EncoderConfig:
    """Returns the configuration with changed dropout rates."""
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise ValueError(
                f"Only {CHANGEABLE} may differ from the checkpoint. "
                f"Received: {name}={value!r}"
            )
    return config.replace(**changes)


def their_names(error: Exception, fields: Mapping[str, tuple[str, Any]]) -> str:
    """Returns a note with the config.json names of the fields in a message."""
    names = [
        f"`{ours}` is `{theirs}`"
        for ours, (theirs, _) in fields.items()
        if ours != theirs and f"`{ours}`" in str(error)
    ]
    return f" ({', '.join(names)} in {CONFIG})" if names else ""
