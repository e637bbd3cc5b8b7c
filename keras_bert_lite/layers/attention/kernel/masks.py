"""Dropout masks that are a function of two random words and of the place."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

LEVELS = 2**16  # a mask compares 16 random bits with the share that is dropped
# A mask is drawn for so many queries at once: two of them share a word of 32 bits.
QUERIES = 128


def dropped_levels(rate: float) -> int:
    """Returns how many of the `LEVELS` are dropped at a rate above 0."""
    return min(max(round(LEVELS * rate), 1), LEVELS - 1)


def random_words(seed, batch: int, num_heads: int):
    """Draws two words for each row and head: int32 `(B, N, 2)`.

    They come from JAX's own generator, so they are the same however rows and heads are
    split over devices.
    """
    bits = jax.random.bits(seed, (batch, num_heads, 2), "uint32")
    return lax.bitcast_convert_type(bits, jnp.int32)


def kept(words, dropped: int, first: int, count: int, length: int):
    """Returns the dropout mask of the queries from `first` on: true where kept.

    It is a function of the words and of the element's place: four integer operations
    an element, the same on every device and within a kernel, so that the backward pass
    draws the mask again. The hash multiplies and shifts like `lowbias32`, with a word
    in place of its first and last shifts.

    Args:
        words: Two words, or arrays of them `(..., 1, 1)`.
        dropped: How many of the `LEVELS` are dropped.
        first, count: The queries, multiples of `QUERIES`.
        length: S.

    Returns:
        Booleans `(..., count, S)`.

    Reference: [Wellons, 2018](https://nullprogram.com/blog/2018/07/31/).
    """
    half = QUERIES // 2
    row, column = (lax.broadcasted_iota(jnp.int32, (half, length), i) for i in (0, 1))
    place, parts = row * length + column, []
    for begin in range(first, first + count, QUERIES):
        bits = _hash(place + begin // 2 * length, *words)
        # The upper bits, and the others mixed with these, in the place of the upper.
        parts += [bits, bits ^ lax.shift_left(bits, _places(16))]
    least = dropped * (2**32 // LEVELS) - 2**31
    return jnp.concatenate(parts, axis=-2) >= np.int32(least)


def _hash(place, first_word, second_word):
    x = (place ^ first_word) * np.int32(0x7FEB352D)
    x = x ^ second_word ^ lax.shift_right_logical(x, _places(15))
    return x * np.int32(0x846CA68B - 2**32)


def _places(count: int):
    return np.int32(count)
