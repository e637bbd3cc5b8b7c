"""Biases of the attention scores by relative position."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite.config import EncoderConfig
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
    """A learned bias for each head and bucket of distances, shared by all blocks.

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary. It
            must have a `relative_bias` and also uses `num_heads` and
            `initializer_range`.

    Call arguments:
        x: Floats of shape `(B, S, H)`; only S is used.

    Output shape:
        `(1, N, S, S)`: biases to add to the attention scores.

    Raises:
        ValueError: If there is no `relative_bias`.

    Reference: [Raffel et al., 2020](https://arxiv.org/abs/1910.10683), section 2.1.
    """

    def __init__(self, config: EncoderConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        if self.config.relative_bias is None:
            raise ValueError("`config` must have a `relative_bias`. Received: None")
        self.relative_bias = self.config.relative_bias
        self.embedding = self._table(
            self.relative_bias.num_buckets, self.config.num_heads, "embedding"
        )

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
            shape = (1, self.config.num_heads, length, 2 * length)
            biases.append(skew(ops.broadcast_to(near, shape)))
        return biases

    def _rows(self, distances):
        limit = self.relative_bias.max_distance
        rows = bias_buckets(self.relative_bias.num_buckets, limit)
        indices = ops.clip(ops.cast(distances, "int32"), -limit, limit) + limit
        return ops.take(rows, indices, axis=0)

    def compute_output_spec(self, x):
        shape = self.compute_output_shape(x.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(self, x_shape):
        return (1, self.config.num_heads, x_shape[1], x_shape[1])
