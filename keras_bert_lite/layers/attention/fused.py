"""Attention with a hand-written gradient, for XLA (JAX)."""

import functools
from collections.abc import Callable
from typing import Any

import jax
from keras import ops

from keras_bert_lite.layers.attention.compute import register


@register("fused")
def attend(query, key, value, layout, window, biases, scale, dropout, terms, _):
    """Computes `compute.attend` on the rows and blocks of a layout."""

    def attention(query, key, value, biases):
        if terms is not None:
            heads = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key))
            biases = [*biases, *terms(*heads)]
        if dropout is None:
            return weigh(query, key, value, biases, scale)
        batch, length, num_heads, _ = query.shape
        kept = dropout.kept((batch, num_heads, length, key.shape[1]))
        return weigh(query, key, value, biases, scale, kept, dropout.kept_share)

    # Of `(B, S, N, D)`, so that no axis is moved.
    options = {"dropping": dropout is not None, "heads_first": False}
    return layout.attend(attention, query, key, value, window, biases, **options)


def weigh(query, key, value, biases: list[Any], scale: float, kept=None, share=1.0):
    """Computes `dropout(softmax(scale Q K^T + biases)) V` in each head.

    The softmax runs in float32. Its weights are stored once, in the dtype of Q and K.
    The sum over the keys in its gradient equals the sum of the output times the
    output's gradient, so that one pass computes the gradient of the scores.

    Args:
        query, key, value: `(B, S, N, D)`.
        biases: Terms of the scores that broadcast to `(B, N, S, S)`.
        scale: The factor of Q K^T; biases are added unscaled.
        kept: The dropout mask, booleans `(B, N, S, S)`, or `None`.
        share: The share of the weights that is kept.

    Returns:
        `(B, S, N, D)`.

    Reference: [Dao et al., 2022](https://arxiv.org/abs/2205.14135), section 3.1 and
    appendix B.2, for the gradient.
    """
    if kept is None and _has_fused_kernel():
        bias = sum(biases) if biases else None
        if bias is not None:
            if query.dtype == "float16":  # in which a mask's number would be infinite
                bias = ops.maximum(bias, -6e4)
            bias = ops.cast(bias, query.dtype)
        return ops.dot_product_attention(query, key, value, bias, scale=scale)

    return _core(scale, share)(query, key, value, tuple(biases), kept)


@functools.cache
def _core(scale: float, share: float) -> Callable:
    """Returns attention with its gradient, of arguments only, under JAX.

    A function that refers to arrays outside cannot be computed again for the gradients
    (gradient checkpointing), and the mask is no float, as `ops.custom_gradient` needs.
    """

    def drop(x, kept):
        return x if kept is None else ops.where(kept, x / share, 0.0)

    def forward(query, key, value, biases, kept):
        scores = ops.einsum("bqnd,bknd->bnqk", query, key)
        scores = ops.cast(scores, "float32")
        scores = scores if scale == 1 else scores * scale
        for bias in biases:
            scores = scores + ops.cast(bias, "float32")
        weights = ops.cast(ops.softmax(scores, axis=-1), query.dtype)
        output = ops.einsum("bnqk,bknd->bqnd", drop(weights, kept), value)
        return output, (query, key, value, biases, kept, weights, output)

    def backward(stored, upstream):
        query, key, value, biases, kept, weights, output = stored
        products = ops.cast(upstream, "float32") * ops.cast(output, "float32")
        sums = ops.transpose(ops.sum(products, axis=-1), (0, 2, 1))[..., None]
        to_value = ops.einsum("bnqk,bqnd->bknd", drop(weights, kept), upstream)
        to_weights = ops.einsum("bqnd,bknd->bnqk", upstream, value)
        to_weights = drop(ops.cast(to_weights, "float32"), kept)
        to_scores = ops.cast(weights, "float32") * (to_weights - sums)
        scaled = ops.cast(to_scores * scale, query.dtype)
        to_query = ops.einsum("bnqk,bknd->bqnd", scaled, key)
        to_key = ops.einsum("bnqk,bqnd->bknd", scaled, query)
        to_biases = tuple(_summed(to_scores, bias) for bias in biases)
        return to_query, to_key, to_value, to_biases, None

    attention = jax.custom_vjp(lambda *arguments: forward(*arguments)[0])
    attention.defvjp(forward, backward)
    return attention


def _summed(x, like):
    """Sums over the axes along which `like` was repeated."""
    axes = [i for i, size in enumerate(like.shape) if size == 1]
    return ops.cast(ops.sum(x, axis=axes, keepdims=True) if axes else x, like.dtype)


def _has_fused_kernel() -> bool:
    """Whether a kernel stores no scores at all: cuDNN's, which has no dropout."""
    return jax.default_backend() == "gpu"
