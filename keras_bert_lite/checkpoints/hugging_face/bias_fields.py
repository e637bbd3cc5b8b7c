"""The fields `attention_bias` and `mlp_bias` of config.json."""

from collections.abc import Mapping
from typing import Any

from keras_bert_lite.checks import check_bool
from keras_bert_lite.config import Biases

BIAS_FIELDS = ("attention_bias", "mlp_bias")


def read_biases(raw: Mapping[str, Any]) -> Biases:
    """Returns which dense layers of the blocks have biases."""
    attention, mlp = (raw.get(x, False) for x in BIAS_FIELDS)
    check_bool("attention_bias", attention)
    check_bool("mlp_bias", mlp)
    return Biases(
        query=attention,
        key=attention,
        value=attention,
        attention_output=attention,
        intermediate=mlp,
        output=mlp,
    )


def write_biases(biases: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the two fields, given those of `Biases`."""
    return {"attention_bias": biases["query"], "mlp_bias": biases["intermediate"]}
