"""Attention that a kernel computes on TPUs, whole rows in fast memory."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as Spec

from keras_bert_lite.layers.attention import fused
from keras_bert_lite.layers.attention.compute import register
from keras_bert_lite.layers.attention.kernel import masks, other_devices, tpu
from keras_bert_lite.layers.split import Split, split_of

# The number of no sequence.
PADDING = np.int32(-(2**31))
# Up to this length, the scores of some queries and all keys fit into fast memory.
LONGEST = 1024


@dataclasses.dataclass(frozen=True)
class Options:
    """What does not depend on the batch.

    Attributes:
        size: D, of a head.
        scale: The factor of Q K^T; biases are added unscaled.
        dropped: How many of `masks.LEVELS` are dropped; 0 for no dropout.
    """

    size: int
    scale: float
    dropped: int = 0

    @property
    def share(self) -> float:
        """The share of the weights that is kept."""
        return 1 - self.dropped / masks.LEVELS


@register("kernel")
def _attend(
    query, key, value, layout, window, biases, scale, dropout, terms, query_kernel
):
    """Computes `compute.attend`, in the kernel if it knows all parts of the scores."""
    known = window is None and biases is None and terms is None
    if not (known and takes(layout.lengths[0])):
        others = (layout, window, biases, scale, dropout, terms, query_kernel)
        return fused.attend(query, key, value, *others)
    batch, length, num_heads, size = query.shape
    rate = 0.0 if dropout is None else dropout.rate
    query, key, value = (
        jnp.reshape(x, (batch, length, -1)) for x in (query, key, value)
    )
    return attend(
        query,
        key,
        value,
        Options(size, scale, masks.dropped_levels(rate) if rate > 0 else 0),
        layout.mask,
        layout.sequence_ids,
        dropout.seed_generator.next() if rate > 0 else None,
        None if query_kernel is None else split_of(query_kernel, batch, num_heads),
    )


def takes(length: Any) -> bool:
    """Whether rows of a length are for the kernel: multiples of 128 up to `LONGEST`."""
    whole = isinstance(length, int) and length % masks.QUERIES == 0
    return whole and 0 < length <= LONGEST


def attend(
    query,
    key,
    value,
    options: Options,
    padding_mask=None,
    sequence_ids=None,
    seed=None,
    split: Split | None = None,
):
    """Computes `dropout(softmax(scale Q K^T)) V` in each head.

    Products are summed, and the softmax computed, in float32. On TPUs a kernel holds
    the scores in fast memory, in the backward pass again; other devices compute the
    same in plain operations.

    Args:
        query, key, value: `(B, S, N D)`.
        options: The size of a head, the scale and the dropout.
        padding_mask: Booleans `(B, S)`, true at real tokens, or `None`.
        sequence_ids: Integers `(B, S)`, or `None`. Tokens attend only to
            tokens with the same number.
        seed: Of the dropout masks, as JAX's key; needed with dropout.
        split: How rows and heads are split over devices, which exchange nothing; heads
            as columns of the queries' kernel. The masks do not depend on it.

    Returns:
        `(B, S, N D)`.

    Reference: [Dao et al., 2022](https://arxiv.org/abs/2205.14135), appendix B.2, for
    the gradient.
    """
    batch, length, width = query.shape
    num_heads = width // options.size
    if options.dropped:
        words = masks.random_words(seed, batch, num_heads)
    else:
        words = jnp.zeros((batch, num_heads, 2), "int32")
    query_ids = jnp.zeros((batch, 1, 1), "int32")
    key_ids = jnp.zeros((batch, 1, length), "int32")
    if sequence_ids is not None:
        query_ids = sequence_ids[:, :, None].astype("int32")
        key_ids = sequence_ids[:, None, :].astype("int32")
    if padding_mask is not None:
        key_ids = jnp.where(padding_mask[:, None, :], key_ids, PADDING)
    return _core(options, split, (query, key, value), words, query_ids, key_ids)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _core(*arguments):
    return _core_forward(*arguments)[0]


def _core_forward(options, split, *inputs):
    output = _run("forward", options, split, *inputs)
    return output, (*inputs, output)


def _core_backward(options, split, stored, upstream):
    to_heads = _run("backward", options, split, *stored, upstream)
    return to_heads, None, None, None


_core.defvjp(_core_forward, _core_backward)


def _run(name: str, options: Options, split: Split | None, *inputs):
    """Calls the kernel where the program is compiled for TPUs."""
    kernel, otherwise = (
        functools.partial(getattr(x, name), options) for x in (tpu, other_devices)
    )

    def run(*inputs):
        return lax.platform_dependent(*inputs, tpu=kernel, default=otherwise)

    if split is None:
        return run(*inputs)
    joined = Spec(split.rows, None, split.columns)
    cuts = [(joined,) * 3, Spec(split.rows, split.columns), *[Spec(split.rows)] * 2]
    cuts += [joined] * (len(inputs) - len(cuts))
    return jax.shard_map(
        run,
        mesh=split.mesh,
        in_specs=tuple(cuts),
        out_specs=joined if name == "forward" else (joined,) * 3,
        check_vma=False,
    )(*inputs)
