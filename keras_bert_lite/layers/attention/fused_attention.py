"""Attention in as few passes over the scores as a compiler can make of it."""

import functools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops


def fuses() -> bool:
    """Whether `attend` replaces the plain computation, if no weights are asked for.

    It does under JAX, which compiles for TPU and GPU. TensorFlow's kernels for CPU are
    faster on the plain one.
    """
    return keras.backend.backend() == "jax"


# The gradients of kernels are products of matrices in the functions below. As products
# with an axis of heads, they come in another layout than the kernels, and what the
# optimizer holds of these would be copied.


def project(x, kernels: list[Any], num_heads: int):
    """Projects to heads by each kernel: (B, S, H) and (H, N D) -> (B, S, N, D).

    The gradient of `x` is one product of all: the parts of a sum would be stored, and
    summed over the devices each, if these split the heads.
    """

    def split(y):
        return ops.reshape(y, (*y.shape[:-1], num_heads, -1))

    @ops.custom_gradient
    def run(x, *kernels):
        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            parts, stacked = ops.stack(upstream), ops.stack([split(y) for y in kernels])
            to_x = ops.einsum("ubsnd,uhnd->bsh", parts, stacked)
            return to_x, *(_to_kernel(x, joined(part)) for part in upstream)

        return tuple(split(ops.matmul(x, y)) for y in kernels), gradient

    return run(x, *kernels)


@ops.custom_gradient
def project_together(x, *kernels):
    """Projects by each kernel to one array: (B, S, H) and (H, W) -> (U, B, S, W)."""

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        to_x = ops.einsum("ubsw,uhw->bsh", upstream, ops.stack(kernels))
        return to_x, *(_to_kernel(x, part) for part in ops.unstack(upstream))

    return ops.einsum("bsh,uhw->ubsw", x, ops.stack(kernels)), gradient


@ops.custom_gradient
def project_joined(heads, kernel):
    """Projects from joined heads: (B, S, N, D) and (N D, H) -> (B, S, H)."""

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        split = ops.reshape(kernel, (*heads.shape[2:], -1))
        to_heads = ops.einsum("bsh,ndh->bsnd", upstream, split)
        return to_heads, _to_kernel(joined(heads), upstream)

    return ops.matmul(joined(heads), kernel), gradient


def joined(heads):
    """Joins heads: (B, S, N, D) -> (B, S, N D)."""
    return ops.reshape(heads, (*heads.shape[:2], -1))


def _to_kernel(x, upstream):
    return ops.einsum("bsh,bsw->hw", x, upstream)


def attend(query, key, value, biases: list[Any], scale: float, kept=None, share=1.0):
    """Computes `dropout(softmax(scale Q K^T + biases)) V` in each head.

    The softmax runs in float32. Its weights are stored once, in the dtype of Q and K.
    The sum over the keys that its gradient needs is that of the output times the
    output's gradient, so that one pass makes the gradient of the scores.

    Args:
        query, key, value: `(B, S, N, D)`.
        biases: Terms of the scores that broadcast to `(B, N, S, S)`.
        scale: Of the scores.
        kept: The dropout mask, booleans `(B, N, S, S)`, or `None`.
        share: The share of the weights that is kept.

    Returns:
        `(B, S, N, D)`.

    Reference: [Dao et al., 2022](https://arxiv.org/abs/2205.14135), section 3.1 and
    appendix B.2, for the gradient.
    """
    if kept is None and _has_fused_kernel():
        bias = sum(biases) if biases else None
        bias = None if bias is None else ops.cast(bias, query.dtype)
        return ops.dot_product_attention(query, key, value, bias, scale=scale)

    return _core(scale, share)(query, key, value, tuple(biases), kept)


@functools.cache
def _core(scale: float, share: float) -> Callable:
    """Returns attention with its gradient, of arguments only, under JAX.

    A function that refers to arrays outside cannot be computed again for the gradients
    (gradient checkpointing), and the mask is no float, as `ops.custom_gradient` needs.
    """
    import jax

    def drop(x, kept):
        return x if kept is None else ops.where(kept, x / share, 0.0)

    def forward(query, key, value, biases, kept):
        scores = ops.einsum("bqnd,bknd->bnqk", query, key)
        scores = ops.cast(scores, "float32") * scale
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
    import jax

    return jax.default_backend() == "gpu"
