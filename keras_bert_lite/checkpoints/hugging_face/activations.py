"""The names of activations in config.json."""

from collections.abc import Mapping
from typing import Any

OURS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
}
THEIRS = {
    "gelu": "gelu",
    "gelu_tanh": "gelu_new",
    "relu": "relu",
    "silu": "silu",
    "tanh": "tanh",
}


def activation_name(raw: Mapping[str, Any], field: str, default: str) -> str:
    """Returns our name for the activation in a field.

    Raises:
        ValueError: If this package does not support the activation.
    """
    name = raw.get(field, default)
    if not isinstance(name, str) or name not in OURS:
        raise ValueError(f"`{field}` must be one of {sorted(OURS)}. Received: {name!r}")
    return OURS[name]
