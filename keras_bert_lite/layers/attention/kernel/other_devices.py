"""What the kernel computes, in plain operations, with the same dropout masks."""

import jax
import jax.numpy as jnp

from keras_bert_lite.layers.attention import fused
from keras_bert_lite.layers.attention.kernel import masks


def forward(options, heads, words, query_ids, key_ids):
    """Returns the attended values, `(B, S, N D)`; see `attention.attend`."""
    batch, length, width = heads[0].shape
    query, key, value = (
        jnp.reshape(x, (batch, length, -1, options.size)) for x in heads
    )
    seen = (query_ids == key_ids)[:, None]
    kept = None
    if options.dropped:
        pair = words[..., 0, None, None], words[..., 1, None, None]
        kept = masks.kept(pair, options.dropped, 0, length, length)
    bias = jnp.where(seen, 0.0, -1e30)
    attended = fused.weigh(
        query, key, value, [bias], options.scale, kept, options.share
    )
    return jnp.reshape(attended, (batch, length, width))


def backward(options, heads, words, query_ids, key_ids, output, upstream):
    """Returns the gradients of `heads`; see `tpu.backward`."""
    _, gradient = jax.vjp(
        lambda *x: forward(options, x, words, query_ids, key_ids), *heads
    )
    return gradient(upstream)
