"""Relative positions: their embeddings, and scores by distance."""

import functools
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite.checks import check_positive
from keras_bert_lite.layer_config import config_of_part
from keras_bert_lite.layers.base import EncoderPart, check_states, norm_of

# The largest distance that is assigned a bucket; no sequence is longer.
LONGEST_DISTANCE = 2**16


def log_buckets(distances, num_buckets: int, max_distance: int) -> np.ndarray:
    """Returns the buckets of distances, which large distances share.

    With `m = num_buckets // 2` and `M = max_distance`, a distance of at most m has a
    bucket of its own, and a larger distance d has the bucket
    `sign(d) (m + ceil((m - 1) log(|d| / m) / log((M - 1) / m)))`. Computed in float32,
    like the published models.

    Args:
        distances: Integers of any shape.
        num_buckets: The number of buckets per direction (k).
        max_distance: The largest distance (M).

    Returns:
        Integers of the shape of `distances`. Distances of M and more have buckets of
        at least `num_buckets`; callers clip them.

    Reference: [He et al., 2021](https://arxiv.org/abs/2111.09543), as in its code.
    """
    distances = np.asarray(distances, "int64")
    middle = num_buckets // 2
    size = np.maximum(np.abs(distances), middle)
    last = np.log(np.float32((max_distance - 1) / middle))
    logs = np.log((size / middle).astype("float32")) / last
    far = np.ceil(logs * np.float32(middle - 1)) + np.float32(middle)
    far = np.sign(distances) * far.astype("int64")
    return np.where(np.abs(distances) <= middle, distances, far)


@functools.cache
def rows_by_distance(
    max_distance: int, num_buckets: int | None = None
) -> tuple[np.ndarray, int]:
    """Returns the row of an embedding table for each distance, and a limit L.

    The table has `2 * span` rows, where `span` is `num_buckets` or, without buckets,
    `max_distance`. The array holds the distances from -L to L; larger distances are
    clipped to them.
    """
    span = num_buckets or max_distance
    distances = np.arange(LONGEST_DISTANCE + 1 if num_buckets else span + 1)
    buckets = distances
    if num_buckets:
        buckets = log_buckets(distances, num_buckets, max_distance)
    limit = min(int(np.count_nonzero(buckets < span)), len(buckets) - 1)
    buckets = buckets[: limit + 1]
    both = np.concatenate([-buckets[:0:-1], buckets])
    return np.clip(both + span, 0, 2 * span - 1).astype("int32"), limit


def table_rows(distances, max_distance: int, num_buckets: int | None = None) -> Any:
    """Returns the row of the embedding table for each distance.

    For a numpy array it returns a numpy array: with a static length, the rows are
    static too, as XLA needs.
    """
    rows, limit = rows_by_distance(max_distance, num_buckets)
    math = np if isinstance(distances, np.ndarray) else ops
    return math.take(rows, math.clip(distances, -limit, limit) + limit, axis=0)


def falling_distances(length) -> Any:
    """Returns the integers S - 1, ..., 0, ..., -S for a length S; see `skew`."""
    math = np if isinstance(length, int) else ops
    return length - 1 - math.arange(2 * length)


def skew(x):
    """Converts scores by distance to scores by position.

    Column c of `x` holds the distance `S - 1 - c`. So in row i, column j of the output
    is column `S - 1 - i + j` of `x`. Reshaping to rows that are shorter by one gives
    exactly that and is cheaper than a gather.

    Args:
        x: Tensor of shape `(B, N, S, 2 * S)`.

    Returns:
        Tensor of shape `(B, N, S, S)`.
    """
    batch, heads, length, width = ops.shape(x)
    shorter = abs(width - 1)  # not -1 for an empty sequence
    x = ops.reshape(x, (batch, heads, length * width))
    x = x[:, :, : length * shorter]
    x = ops.reshape(x, (batch, heads, length, shorter))
    return x[:, :, :, length - 1 : width - 1]


def scores_by_distance(x, table):
    """Returns the scores of all pairs of positions by their distance.

    Args:
        x: Queries or keys, `(B, N, S, D)`.
        table: Vectors of the distances `falling_distances(S)`, `(2 * S, H)`.

    Returns:
        Floats, float32, of shape `(B, N, S, S)`.
    """
    _, num_heads, _, size = x.shape
    if num_heads == 1:
        # On some processors, TensorFlow's product of (B, 1, S, D) and (1, D, 2 S)
        # writes outside of its output; see `tests/layers/attention/broadcast_product`.
        scores = ops.matmul(ops.squeeze(x, 1), ops.transpose(table))[:, None]
    else:
        heads = ops.reshape(table, (-1, num_heads, size))
        scores = ops.matmul(x, ops.transpose(heads, (1, 2, 0)))
    return ops.cast(skew(scores), "float32")


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class RelativeTable(EncoderPart):
    """The relative position embeddings of DeBERTa, shared by all blocks.

    Args:
        span: Half the number of embeddings (K): the `buckets` of
            `DisentangledAttention` or, without them, its `max_distance`.
        layer_norm: Whether the embeddings are normalized, or a normalization layer.
        initializer_range: Standard deviation of the initial weights.

    Call arguments:
        x: Floats of shape `(B, S, H)`, of which only the width is used.

    Output shape:
        `(2 K, H)`.

    Reference: [He et al., 2021](https://arxiv.org/abs/2006.03654), section 3.1.
    """

    def __init__(
        self,
        span: int,
        layer_norm: keras.layers.Layer | bool | dict[str, Any] = True,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ) -> None:
        super().__init__(initializer_range=initializer_range, **kwargs)
        check_positive("span", span)
        self.span = span
        self.embedding: Any = None  # as wide as the input, so made in `build`
        self.layer_norm = norm_of(layer_norm, "layer_norm", self.dtype_policy)

    def build(self, x_shape):
        check_states(x_shape)
        self.embedding = self._table(2 * self.span, x_shape[-1], "embedding")
        self.embedding.build((None,))
        if self.layer_norm is not None:
            self.layer_norm.build((2 * self.span, x_shape[-1]))

    def call(self, x):
        return self.rows()

    def rows(self):
        """Returns the embeddings, `(2 K, H)`."""
        rows = self.embedding(ops.arange(2 * self.span, dtype="int32"))
        return rows if self.layer_norm is None else self.layer_norm(rows)

    def compute_output_shape(self, x_shape):
        return (2 * self.span, x_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "span": self.span,
            "layer_norm": config_of_part(self.layer_norm),
        }
