"""Rotary positions."""

from typing import Any, NamedTuple

import numpy as np
from keras import ops


class Rotation(NamedTuple):
    """The rotation of each position, by pairs of elements of a head."""

    cosines: Any  # (S, D / 2) float32
    sines: Any  # (S, D / 2) float32


def rotations(
    length: Any, size: int, base: float, scale: float = 1.0, share: float = 1.0
) -> Rotation:
    """Returns the rotations of the positions 0 to S - 1 for heads of size D.

    The angle of position p and pair k is `p / (scale base^(2 k / D))`. It is 0 from
    pair `share D / 2` on.

    Args:
        length: S, a number or a tensor.
        size: D, even.
        base, scale, share: See `config.Rotary`.

    Reference: [Su et al., 2021](https://arxiv.org/abs/2104.09864), section 3.2.
    """
    # In float32, as in Hugging Face: at position 8,000, the rounding of a speed shows.
    exponents = np.arange(0, size, 2, dtype="float32") / np.float32(size)
    speeds = np.float32(1) / np.float32(base) ** exponents / np.float32(scale)
    speeds[int(share * size // 2) :] = 0.0
    positions = ops.cast(ops.arange(length, dtype="int32"), "float32")
    angles = positions[:, None] * ops.convert_to_tensor(speeds)
    return Rotation(ops.cos(angles), ops.sin(angles))


def rotate(x, rotation: Rotation):
    """Rotates heads by their positions: (B, N, S, D) -> (B, N, S, D).

    Elements k and `k + D / 2` of a head are a pair, as in GPT-NeoX and Hugging Face.
    Computed in float32.
    """
    half = x.shape[-1] // 2
    first, second = (ops.cast(y, "float32") for y in (x[..., :half], x[..., half:]))
    cosines, sines = rotation
    turned = (first * cosines - second * sines, second * cosines + first * sines)
    return ops.cast(ops.concatenate(turned, axis=-1), x.dtype)
