"""What the kernel computes, in plain operations, with the same dropout masks."""

import jax
import jax.numpy as jnp

from keras_bert_lite.layers.attention.kernel import masks


def forward(options, heads, words, query_ids, key_ids):
    """Returns the attended values, `(B, S, H)`; see `attention.attend`."""
    _, batch, length, width = heads.shape
    query, key, value = jnp.reshape(heads, (3, batch, length, -1, options.size))
    scores = jnp.einsum("bqnd,bknd->bnqk", query, key).astype(jnp.float32)
    seen = (query_ids == key_ids)[:, None]
    scores = scores * options.scale + jnp.where(seen, 0.0, -1e30)
    weights = jax.nn.softmax(scores)
    if options.dropped:
        pair = words[..., 0, None, None], words[..., 1, None, None]
        kept = masks.kept(pair, options.dropped, 0, length, length)
        weights = jnp.where(kept, weights / options.share, 0.0)
    weights = weights.astype(heads.dtype)
    attended = jnp.einsum("bnqk,bknd->bqnd", weights, value)
    return jnp.reshape(attended, (batch, length, width))


def backward(options, heads, words, query_ids, key_ids, output, upstream):
    """Returns the gradient of `heads` and its sums; see `tpu.backward`."""
    _, gradient = jax.vjp(
        lambda x: forward(options, x, words, query_ids, key_ids), heads
    )
    (to_heads,) = gradient(upstream)
    return to_heads, to_heads.astype("float32").sum((1, 2))[None]
