"""Biases of the attention scores by relative position."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite.checks import check_bias_buckets, check_positive
from keras_bert_lite.layers.attention.relative_positions import falling_distances, skew
from keras_bert_lite.layers.base import EncoderPart


@functools.cache
def bias_buckets(num_buckets: int, max_distance: int) -> np.ndarray:
    """Returns the row of the table for each distance from -M to M.

    With `e = num_buckets // 4`, the distance `d = i - j` of query i and key j has the
    row d if `0 <= d < e`. Larger distances up to M have the row
    `e + floor(e log(d / e) / log(M / e))`, at most `2 e - 1`. For keys after the query
    (d < 0), the row is `2 e` plus that of -d. Computed in float32, like the published
    models.

    Args:
        num_buckets: Rows of the table (4 e).
        max_distance: M; callers clip larger distances to it.

    Reference: [Raffel et al., 2020](https://arxiv.org/abs/1910.10683), as in
    its code.
    """
    exact = num_buckets // 4
    sizes = np.arange(max_distance + 1)
    logs = np.log(np.maximum(sizes, exact).astype("float32") / np.float32(exact))
    logs = logs / np.float32(math.log(max_distance / exact)) * np.float32(exact)
    far = np.minimum(exact + logs.astype(int), 2 * exact - 1)
    rows = np.where(sizes < exact, sizes, far)
    return np.concatenate([rows[:0:-1] + 2 * exact, rows]).astype("int32")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RelativeBiasTable(EncoderPart):
    """A learned bias for each head and bucket of distances (MPNet, T5).

    All blocks share it: it is the `biases` of `SelfAttention`.

    Args:
        num_heads: Number of attention heads (N).
        num_buckets: Rows of the table, half of them for keys after the query. In
            each half, the smaller distances have one row each.
        max_distance: All distances from here on share one row.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`; only S is used.

    Output shape:
        `(1, N, S, S)`: biases to add to the attention scores.

    Raises:
        ValueError: If a value is out of its range.

    Reference: [Raffel et al., 2020](https://arxiv.org/abs/1910.10683), section 2.1.
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("num_heads", num_heads)
        check_bias_buckets(num_buckets, max_distance)
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.embedding = self._table(num_buckets, num_heads, "embedding")

    def build(self, x_shape=None):
        self.embedding.build((None,))

    def call(self, x):
        return self.biases([ops.shape(x)[1]])[0]

    def biases(self, lengths: Sequence[Any]) -> list[Any]:
        """Returns the biases of groups of rows, `(1, N, s, s)` for each length s."""
        longest = functools.reduce(ops.maximum, lengths)
        table = self.embedding(self._rows(falling_distances(longest)))  # (2 S, N)
        table = ops.transpose(table)[None, :, None, :]
        biases = []
        for length in lengths:
            near = table[..., longest - length : longest + length]
            shape = (1, self.num_heads, length, 2 * length)
            biases.append(skew(ops.broadcast_to(near, shape)))
        return biases

    def _rows(self, distances):
        limit = self.max_distance
        rows = bias_buckets(self.num_buckets, limit)
        indices = ops.clip(ops.cast(distances, "int32"), -limit, limit) + limit
        return ops.take(rows, indices, axis=0)

    def compute_output_spec(self, x):
        shape = self.compute_output_shape(x.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(self, x_shape):
        return (1, self.num_heads, x_shape[1], x_shape[1])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
        }
