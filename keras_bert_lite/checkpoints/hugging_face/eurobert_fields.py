"""EuroBERT's config.json fields that need more than a new name."""

from typing import Any

from keras_bert_lite.checkpoints.hugging_face import rotary_fields
from keras_bert_lite.checkpoints.hugging_face.bias_fields import (
    read_biases,
    write_biases,
)
from keras_bert_lite.config import Norms

BASE = 10_000.0  # transformers' default of the rotary base
NORMS = Norms(
    before=True, after=False, final=True, bias=False, embeddings=False, rms=True
)


def read(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Returns our values, with EuroBERT's own fields added."""
    values = rotary_fields.read(values, raw, BASE)
    return {**values, "biases": read_biases(raw)}


def write(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Returns config.json with the fields that `read` parses."""
    raw = rotary_fields.write(raw, values)
    shared = values["num_key_value_heads"] or values["num_heads"]
    return {
        **raw,
        **write_biases(values["biases"]),
        "num_key_value_heads": shared,
        "tie_word_embeddings": True,  # unless the head has an output layer of its own
    }
