"""Attention that a kernel computes on TPUs, whole rows in fast memory."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as Spec

from keras_bert_lite.layers.attention.kernel import masks, plain, tpu
from keras_bert_lite.layers.split import Split

# The number of no sequence.
PADDING = np.int32(-(2**31))
# Up to this length, the scores of some queries and all keys fit into fast memory.
LONGEST = 1024


@dataclasses.dataclass(frozen=True)
class Options:
    """What does not depend on the batch.

    Attributes:
        size: D, of a head.
        dropped: How many of `masks.LEVELS` are dropped; 0 for no dropout.
    """

    size: int
    dropped: int = 0

    @property
    def scale(self) -> float:
        return self.size**-0.5

    @property
    def share(self) -> float:
        """The share of the weights that is kept."""
        return 1 - self.dropped / masks.LEVELS


def takes(length: Any) -> bool:
    """Whether rows of a length are for the kernel: multiples of 128 up to `LONGEST`."""
    whole = isinstance(length, int) and length % masks.QUERIES == 0
    return whole and 0 < length <= LONGEST


def attend(
    heads,
    biases,
    num_heads: int,
    padding_mask=None,
    sequence_ids=None,
    rate: float = 0.0,
    seed=None,
    split: Split | None = None,
):
    """Computes `dropout(softmax(Q K^T / sqrt(D))) V` in each head.

    The biases of Q, K and V are added here, because the kernel, which has the gradient
    of what they are added to in fast memory, sums it: behind the kernel that would be
    one more pass.

    Products are summed, and the softmax computed, in float32. On TPUs a kernel holds
    the scores in fast memory, in the backward pass again; other devices compute the
    same in plain operations.

    Args:
        heads: Q, K and V without their biases, `(3, B, S, H)`.
        biases: `(3, H)`.
        num_heads: N.
        padding_mask: Booleans `(B, S)`, true at real tokens, or `None`.
        sequence_ids: Integers `(B, S)`, or `None`. Tokens attend only to
            tokens with the same number.
        rate: Of dropout; rounded to a multiple of 1 / 65536.
        seed: Of the dropout masks, as JAX's key; needed with a rate above 0.
        split: How rows and heads are split over devices, which exchange nothing; heads
            as columns of the queries' kernel. The masks do not depend on it.

    Returns:
        `(B, S, H)`.

    Reference: [Dao et al., 2022](https://arxiv.org/abs/2205.14135), appendix B.2, for
    the gradient.
    """
    _, batch, length, width = heads.shape
    options = Options(width // num_heads, masks.dropped_levels(rate) if rate > 0 else 0)
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
    return _attend(options, split, heads, biases, words, query_ids, key_ids)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _attend(*arguments):
    return _attend_forward(*arguments)[0]


def _attend_forward(options, split, heads, biases, *others):
    inputs = (heads + biases[:, None, None], *others)
    output = _run("forward", options, split, *inputs)
    return output, (*inputs, output)


def _attend_backward(options, split, stored, upstream):
    to_heads, sums = _run("backward", options, split, *stored, upstream)
    to_biases = sums.sum(0).astype(to_heads.dtype)
    return to_heads, to_biases, None, None, None


_attend.defvjp(_attend_forward, _attend_backward)


def _run(name: str, options: Options, split: Split | None, *inputs):
    """Calls the kernel where the program is compiled for TPUs."""
    kernel, otherwise = (
        functools.partial(getattr(x, name), options) for x in (tpu, plain)
    )

    def run(*inputs):
        return lax.platform_dependent(*inputs, tpu=kernel, default=otherwise)

    if split is None:
        return run(*inputs)
    rows, heads = split.rows, split.columns
    stacked, joined = Spec(None, rows, None, heads), Spec(rows, None, heads)
    cuts = [stacked, Spec(rows, heads), Spec(rows), Spec(rows)]
    cuts += [joined] * (len(inputs) - len(cuts))
    gradients = stacked, Spec(rows, None, heads)
    return jax.shard_map(
        run,
        mesh=split.mesh,
        in_specs=tuple(cuts),
        out_specs=joined if name == "forward" else gradients,
        check_vma=False,
    )(*inputs)
