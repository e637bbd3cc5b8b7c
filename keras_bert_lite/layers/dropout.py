"""Dropout, and its masks."""

from typing import Any

import keras
from keras import ops


class Dropout(keras.layers.Dropout):
    """Keras's dropout, which also gives its mask and can draw it from fewer bits.

    Args:
        rate: The share of elements that is dropped.
        fast: Whether masks are drawn with 8 bits per element, with JAX's generator
            `rbg`; see `set_fast_dropout`.
        **kwargs: The other arguments of `keras.layers.Dropout`.
    """

    def __init__(self, rate: float, fast: bool = False, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.fast = fast

    def call(self, inputs, training=False):
        if not (self.fast and training and 0 < self.rate < 1):
            return super().call(inputs, training)
        kept = ops.cast(self.kept(ops.shape(inputs)), inputs.dtype)
        return inputs * kept / self.kept_share

    @property
    def kept_share(self) -> float:
        """The probability with which an element is kept."""
        return 1 - self._dropped_of_256 / 256 if self.fast else 1 - self.rate

    @property
    def _dropped_of_256(self) -> int:
        return min(max(round(256 * self.rate), 1), 255)

    def kept(self, shape: tuple[Any, ...]):
        """Draws a mask of a shape: booleans, true where elements are kept.

        Under JAX it is the mask that `call` would draw.
        """
        if self.fast:
            bits = _random_bytes(self.seed_generator.next(), shape)
            return bits >= self._dropped_of_256
        drawn = keras.random.uniform(shape, dtype="float32", seed=self.seed_generator)
        return drawn < self.kept_share


def _random_bytes(seed, shape: tuple[int, ...]):
    """Draws 8-bit integers with the generator `rbg`, under JAX.

    Its key has twice the size of Keras's seeds. Threefry makes one from a seed, since
    the streams of adjacent seeds would overlap.
    """
    import jax

    key = jax.random.wrap_key_data(jax.random.bits(seed, (4,)), impl="rbg")
    return jax.random.bits(key, shape, "uint8")
