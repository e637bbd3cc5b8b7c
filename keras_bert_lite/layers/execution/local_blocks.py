"""The layout of a batch for layers that attend to nearby tokens: blocks of queries."""

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops


def blocks_pay(length: Any, window: int) -> Any:
    """Whether blocks hold fewer scores than rows of a length, a number or a tensor."""
    return length > 2 * window


class LocalBlocks:
    """Rows `(B, S)` cut into blocks of queries, for a layer with an attention window.

    A block is as many tokens as the window is wide (c). Its keys are those tokens and
    half a window on either side (K = c + 2 (c // 2)). So the work grows with S, and not
    with its square.

    Args:
        window: See `Reads`.
        columns: Integers `(B, S)`: the positions of the tokens in their rows. Tokens
            that are near each other in a row must not be farther apart here.
        sequences: Integers `(B, S)`: tokens attend only to tokens with the same number.
        real: Booleans `(B, S)`: the tokens that are attended to.
    """

    def __init__(self, window: int, columns: Any, sequences: Any, real: Any) -> None:
        self._reach = window // 2
        self._size = max(2, window)  # Keras warns of a softmax over one key
        self._batch, self._length = ops.shape(columns)
        count = -(-self._length // self._size)
        self._count = max(1, count) if isinstance(count, int) else ops.maximum(1, count)
        self.bias = self._bias(columns, sequences, real)  # (B n, 1, c, K)

    def _bias(self, columns, sequences, real):
        numbers = (columns, sequences, ops.cast(real, "int32"))
        queries = [self._cut(x) for x in numbers]
        keys = [self._with_neighbours(x)[:, None] for x in queries]
        column, sequence, _ = (x[:, :, None] for x in queries)
        near = ops.abs(column - keys[0]) <= self._reach
        seen = ops.logical_and(near, sequence == keys[1])
        seen = ops.logical_and(seen, keys[2] == 1)
        return mask_bias(seen)[:, None]

    def attend(self, attention: Callable, query, key, value, heads_first: bool):
        """Calls `attention(query, key, value, biases)` on the blocks.

        Args:
            attention: See `PaddedRows.attend`.
            query, key, value: `(B, S, N, D)`.
            heads_first: See `PaddedRows.attend`.

        Returns:
            `(B, S, N, D)`.
        """
        query, key, value = (self._cut(x) for x in (query, key, value))
        key, value = self._with_neighbours(key), self._with_neighbours(value)
        if not heads_first:
            return self._joined(attention(query, key, value, [self.bias]))
        query, key, value = (swap_heads(x) for x in (query, key, value))
        return self._joined(swap_heads(attention(query, key, value, [self.bias])))

    def _cut(self, x):
        """(B, S, ...) -> (B n, c, ...), n blocks of each row, zeros at the end."""
        added = self._count * self._size - self._length
        x = ops.pad(x, [[0, 0], [0, added], *[[0, 0]] * (len(x.shape) - 2)])
        return ops.reshape(x, (-1, self._size, *x.shape[2:]))

    def _joined(self, x):
        """(B n, c, ...) -> (B, S, ...)."""
        length = self._count * self._size
        x = ops.reshape(x, (self._batch, length, *x.shape[2:]))
        return x[:, : self._length]

    def _with_neighbours(self, x):
        """Adds half a window of each neighbour: (B n, c, ...) -> (B n, K, ...).

        Beyond the ends of a row there are zeros.
        """
        if not self._reach:
            return x
        rest = x.shape[2:]
        x = ops.reshape(x, (-1, self._count, self._size, *rest))
        ends, begins = x[:, :, self._size - self._reach :], x[:, :, : self._reach]
        none = [[0, 0]] * (len(rest) + 1)
        before = ops.pad(ends[:, :-1], [[0, 0], [1, 0], *none])
        after = ops.pad(begins[:, 1:], [[0, 0], [0, 1], *none])
        x = ops.concatenate([before, x, after], axis=2)
        return ops.reshape(x, (-1, self._size + 2 * self._reach, *rest))


def swap_heads(x):
    """(B, S, N, D) -> (B, N, S, D), and back."""
    return ops.transpose(x, (0, 2, 1, 3))


def mask_bias(visible):
    """Returns 0 where a query attends to a key, else -1e30: float32 for any floatx."""
    return ops.where(visible, np.float32(0), np.float32(-1e30))
