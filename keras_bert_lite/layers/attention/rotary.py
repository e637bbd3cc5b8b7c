"""Rotary positions."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_bert_lite.checks import check_rotary


class Rotation(NamedTuple):
    """The rotation of each position, by pairs of elements of a head."""

    cosines: Any  # (S, D / 2) float32
    sines: Any  # (S, D / 2) float32


@dataclasses.dataclass(frozen=True)
class RotaryPositions:
    """Rotary positions: queries and keys are rotated by their position.

    The angle of position p and pair k of a head of size D is
    `p / (scale base^(2 k / D))`. It is 0 from pair `share D / 2` on.

    Args:
        base: The base of the wavelengths (theta). A larger base rotates slower.
        scale: A divisor of the positions (linear scaling, for texts longer than those
            of pretraining).
        share: The share of a head that is rotated, from 0 to 1: the elements of the
            shortest wavelengths. The others ignore positions.

    Raises:
        ValueError: If a value is not a positive number, or `share` above 1.

    Reference: [Su et al., 2021](https://arxiv.org/abs/2104.09864), section 3.2; the
    scale: [Chen et al., 2023](https://arxiv.org/abs/2306.15595), section 2.2.
    """

    base: float = 10_000.0
    scale: float = 1.0
    share: float = 1.0

    def __post_init__(self) -> None:
        check_rotary(self.base, self.scale, self.share)

    def rotations(self, length: Any, size: int) -> Rotation:
        """Returns the rotations of the positions 0 to S - 1.

        Args:
            length: S, a number or a tensor.
            size: The size of a head (D), even.
        """
        # In float32, as in Hugging Face: at position 8,000, a speed's rounding shows.
        exponents = np.arange(0, size, 2, dtype="float32") / np.float32(size)
        speeds = np.float32(1) / np.float32(self.base) ** exponents
        speeds = speeds / np.float32(self.scale)
        speeds[int(self.share * size // 2) :] = 0.0
        positions = ops.cast(ops.arange(length, dtype="int32"), "float32")
        angles = positions[:, None] * ops.convert_to_tensor(speeds)
        return Rotation(ops.cos(angles), ops.sin(angles))


def rotate(x, rotation: Rotation):
    """Rotates heads by their positions: (..., S, N, D) -> (..., S, N, D).

    Elements k and `k + D / 2` of a head are a pair, as in GPT-NeoX and Hugging Face.
    Computed in float32.
    """
    half = x.shape[-1] // 2
    first, second = (ops.cast(y, "float32") for y in (x[..., :half], x[..., half:]))
    cosines, sines = (y[:, None] for y in rotation)
    turned = (first * cosines - second * sines, second * cosines + first * sines)
    return ops.cast(ops.concatenate(turned, axis=-1), x.dtype)
