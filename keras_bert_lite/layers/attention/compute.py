"""Attention as a function of queries, keys and values.

`attend` is what layers call. It chooses one of three implementations, which compute the
same: plain operations (`weigh`, here), those of `fused.py` for XLA under JAX, and a
kernel for TPUs. The last two register themselves when they are imported.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_choice
from keras_bert_lite.layers.dropout import Dropout

# Modules that register an implementation when they are imported; both need JAX.
MODULES = {
    "fused": "keras_bert_lite.layers.attention.fused",
    "kernel": "keras_bert_lite.layers.attention.kernel.attention",
}
CHOICES = ("auto", "plain", *MODULES)
_implementations: dict[str, Callable] = {}


def check_implementation(name: Any) -> None:
    """Raises an error unless an implementation is one of the choices."""
    check_choice("implementation", name, CHOICES)


def register(name: str) -> Callable:
    """Returns a decorator for a function with `attend`'s arguments but the last."""

    def registered(function: Callable) -> Callable:
        _implementations[name] = function
        return function

    return registered


def attend(
    query,
    key,
    value,
    layout: Any,
    window: int | None = None,
    biases: list[Any] | None = None,
    scale: float = 1.0,
    dropout: Dropout | None = None,
    terms: Callable | None = None,
    query_kernel: keras.Variable | None = None,
    implementation: str = "auto",
):
    """Computes `dropout(softmax(scale Q K^T + biases)) V` in each head.

    The softmax runs in float32.

    Args:
        query, key, value: Of each token, `(B, S, N, D)`, or `(T, N, D)` in a layout
            without padding.
        layout: The layout of the batch, which has the masks; see `PaddedRows`.
        window: The attention window of the layer, or `None`.
        biases: Another term of the scores for each group of rows of the layout.
        scale: The factor of Q K^T; biases and `terms` are added unscaled.
        dropout: The dropout of the weights; `None` for none.
        terms: A function of the queries and keys of a group of rows, `(b, N, s, D)`,
            which returns further terms of the scores, `(b, N, s, s)`.
        query_kernel: The kernel that the queries come from: on several devices, heads
            are split as its columns are.
        implementation: One of `CHOICES`. `"auto"` is `"fused"` under JAX and `"plain"`
            elsewhere: TensorFlow's kernels for CPU are faster on it. The others are
            for JAX, and elsewhere mean `"plain"`.

    Returns:
        `(B, S, N D)`, or `(T, N D)`.
    """
    return _implementation(implementation)(
        query, key, value, layout, window, biases, scale, dropout, terms, query_kernel
    )


def _implementation(name: str) -> Callable:
    if keras.backend.backend() != "jax":
        return _implementations["plain"]
    name = "fused" if name == "auto" else name
    if name not in _implementations:
        importlib.import_module(MODULES[name])
    return _implementations[name]


@register("plain")
def _attend(query, key, value, layout, window, biases, scale, dropout, terms, _):
    attention = functools.partial(_plain, scale, dropout, terms)
    dropping = dropout is not None
    return layout.attend(attention, query, key, value, window, biases, dropping)


def _plain(scale, dropout, terms, query, key, value, biases: list[Any]):
    return weigh(query, key, value, biases, scale, dropout, terms)[0]


def weigh(
    query,
    key,
    value,
    biases: list[Any],
    scale: float = 1.0,
    dropout: Dropout | None = None,
    terms: Callable | None = None,
):
    """Computes attention of whole rows in plain operations, on any backend.

    Args:
        query, key, value: `(b, N, s, D)`.
        biases: Terms of the scores that broadcast to `(b, N, s, s)`.
        scale, dropout, terms: See `attend`.

    Returns:
        The attended values, `(b, N, s, D)`, and their weights before dropout,
        `(b, N, s, s)`.
    """
    scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
    scores = ops.cast(scores, "float32")
    scores = scores if scale == 1 else scores * scale
    for term in (*(terms(query, key) if terms else ()), *biases):
        scores = scores + ops.cast(term, "float32")
    weights = ops.cast(ops.softmax(scores, axis=-1), value.dtype)
    kept = weights if dropout is None else dropout(weights, training=True)
    return ops.matmul(kept, value), weights
