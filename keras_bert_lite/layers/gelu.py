"""The exact GELU."""

import math

import keras
from keras import ops

from keras_bert_lite.layers.execution.engines import traced_for_engine


def gelu(x):
    """Returns `x P(X <= x)` for a standard normal X, by the error function.

    Under JAX, the backward pass keeps only `x` and computes the rest again: what
    differentiation keeps by itself costs a compiled step more than the activation.
    For other engines it is written out.
    """
    if keras.backend.backend() == "jax":
        return _lean(x)
    if traced_for_engine():
        return 0.5 * x * (1 + ops.erf(x / math.sqrt(2)))
    return ops.gelu(x, approximate=False)


@ops.custom_gradient
def _lean(x):
    y = ops.cast(x, "float32")

    def below():
        # Not `erfc`, which has two branches: the one taken would be stored.
        return 0.5 * (1 + ops.erf(y * math.sqrt(0.5)))

    def gradient(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        density = ops.exp(-0.5 * y * y) / math.sqrt(2 * math.pi)
        slope = below() + y * density
        return ops.cast(ops.cast(upstream, "float32") * slope, x.dtype)

    return ops.cast(y * below(), x.dtype), gradient
