"""Projections to heads and from them, with gradients in the layout of their kernels.

For JAX. The gradients of kernels are products of matrices in the functions below. As
products with an axis of heads, they come in another layout than the kernels, and what
the optimizer holds of these would be copied.
"""

from typing import Any

from keras import ops


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
            return to_x, *(_to_kernel(x, _joined(part)) for part in upstream)

        return tuple(split(ops.matmul(x, y)) for y in kernels), gradient

    return run(x, *kernels)


@ops.custom_gradient
def project_joined(heads, kernel):
    """Projects from joined heads: (B, S, N, D) and (N D, H) -> (B, S, H)."""

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        split = ops.reshape(kernel, (*heads.shape[2:], -1))
        to_heads = ops.einsum("bsh,ndh->bsnd", upstream, split)
        return to_heads, _to_kernel(_joined(heads), upstream)

    return ops.matmul(_joined(heads), kernel), gradient


def _joined(heads):
    return ops.reshape(heads, (*heads.shape[:2], -1))


def _to_kernel(x, upstream):
    return ops.einsum("bsh,bsw->hw", x, upstream)
