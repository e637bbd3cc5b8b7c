"""The layout of a batch for layers that attend to nearby tokens: blocks of queries."""

from typing import Any

import numpy as np
from keras import ops

from keras_bert_lite.layers.attention.rotary import Rotation


def blocks_pay(length: Any, window: int) -> Any:
    """Whether blocks hold fewer scores than rows of a length, a number or a tensor."""
    return length > 2 * window


class LocalBlocks:
    """Rows `(B, S)` cut into blocks of queries, for a layer with an attention window.

    A block is as many tokens as the window is wide (c). Its keys are those tokens and
    half a window on either side (K = c + 2 (c // 2)). So the work grows with S, and not
    with its square.

    Args:
        num_heads: N.
        window: See `EncoderConfig.window`.
        columns: Integers `(B, S)`: the positions of the tokens in their rows. Tokens
            that are near each other in a row must not be farther apart here.
        sequences: Integers `(B, S)`: tokens attend only to tokens with the same number.
        real: Booleans `(B, S)`: the tokens that are attended to.
        rotations: For each base, the rotations of all columns.

    Attributes:
        biases: By the window, the mask biases of the scores, `(B n, 1, c, K)`.
        rotations: By the base, the rotations of the queries, `(B n, 1, c, D / 2)`.
    """

    def __init__(
        self,
        num_heads: int,
        window: int,
        columns: Any,
        sequences: Any,
        real: Any,
        rotations: dict[float, list[Rotation]],
    ) -> None:
        self._num_heads, self._reach = num_heads, window // 2
        self._size = max(2, window)  # Keras warns of a softmax over one key
        self._batch, self._length = ops.shape(columns)
        count = -(-self._length // self._size)
        self._count = max(1, count) if isinstance(count, int) else ops.maximum(1, count)
        self.biases = {window: [self._bias(columns, sequences, real)]}
        self.rotations = {
            base: [
                Rotation(
                    *(self.cut(ops.take(x, columns, 0))[:, None] for x in rotation)
                )
                for rotation in of_all
            ]
            for base, of_all in rotations.items()
        }

    def _bias(self, columns, sequences, real):
        numbers = (columns, sequences, ops.cast(real, "int32"))
        queries = [self.cut(x) for x in numbers]
        keys = [self.with_neighbours(x, axis=1)[:, None] for x in queries]
        column, sequence, _ = (x[:, :, None] for x in queries)
        near = ops.abs(column - keys[0]) <= self._reach
        seen = ops.logical_and(near, sequence == keys[1])
        seen = ops.logical_and(seen, keys[2] == 1)
        return mask_bias(seen)[:, None]

    def cut(self, x):
        """(B, S, ...) -> (B n, c, ...), n blocks of each row, zeros at the end."""
        added = self._count * self._size - self._length
        x = ops.pad(x, [[0, 0], [0, added], *[[0, 0]] * (len(x.shape) - 2)])
        return ops.reshape(x, (-1, self._size, *x.shape[2:]))

    def join(self, x):
        """(B n, c, ...) -> (B, S, ...)."""
        length = self._count * self._size
        x = ops.reshape(x, (self._batch, length, *x.shape[2:]))
        return x[:, : self._length]

    def with_neighbours(self, x, axis: int = 2):
        """Adds half a window of each neighbour to the blocks, which `axis` counts.

        `(B n, c, ...) -> (B n, K, ...)` for axis 1, `(B n, N, c, D) -> (B n, N, K, D)`
        for axis 2; zeros beyond the ends of a row.
        """
        shape, reach = ops.shape(x), self._reach
        if not reach:
            return x
        x = ops.reshape(x, (-1, self._count, *shape[1:]))
        all_before = (slice(None),) * (axis + 1)
        ends = x[(*all_before, slice(self._size - reach, None))]
        begins = x[(*all_before, slice(None, reach))]
        none = [[0, 0]] * (len(shape) - 1)
        before = ops.pad(ends[:, :-1], [[0, 0], [1, 0], *none])
        after = ops.pad(begins[:, 1:], [[0, 0], [0, 1], *none])
        x = ops.concatenate([before, x, after], axis=axis + 1)
        width = self._size + 2 * reach
        return ops.reshape(x, (-1, *shape[1:axis], width, *shape[axis + 1 :]))

    def split_heads(self, x) -> list[Any]:
        """(B, S, H), or without its B or S of 1, -> [(B n, N, c, D)]."""
        size = x.shape[-1] // self._num_heads
        x = ops.reshape(x, (self._batch, self._length, self._num_heads, size))
        return [ops.transpose(self.cut(x), (0, 2, 1, 3))]

    def join_heads(self, x: list[Any], like):
        """[(B n, N, c, D)] -> the shape of `like`."""
        (heads,) = x
        return ops.reshape(
            self.join(ops.transpose(heads, (0, 2, 1, 3))), ops.shape(like)
        )


def mask_bias(visible):
    """Returns 0 where a query attends to a key, else -1e30: float32 for any floatx."""
    return ops.where(visible, np.float32(0), np.float32(-1e30))
