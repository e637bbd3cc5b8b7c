"""The padded layout of a batch: rows, masks and positions for attention."""

from collections.abc import Callable, Sequence
from typing import Any

from keras import ops

from keras_bert_lite.layers.execution import query_blocks
from keras_bert_lite.layers.execution.engines import traced_for_engine
from keras_bert_lite.layers.execution.local_blocks import (
    LocalBlocks,
    blocks_pay,
    mask_bias,
    swap_heads,
)
from keras_bert_lite.layers.execution.reads import Reads, rotations_of, windows_of

NEEDS_WHOLE_ROWS = (
    "`biases` must be None where rows are cut into blocks. An attention layer whose "
    "scores have terms of their own must return True from `has_relative_terms`."
)


class PaddedRows:
    """The layout of a padded batch `(B, S)`, one group of rows for attention.

    It is created once per call of an encoder and computes the masks and rotations that
    all layers share. `RealTokens` is the layout without padding.

    Args:
        reads: What the attention layers read from it.
        shape: (B, S), numbers, or tensors if they are only known in a graph.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens; all are
            real if absent.
        sequence_ids: Integers of shape `(B, S)`. Tokens attend only to tokens with
            the same number (several sequences packed in a row).
        whole_rows: Whether attention needs whole rows: its weights are asked for, or
            its scores have terms that depend on relative positions.

    Attributes:
        mask: The padding mask, or None.
        sequence_ids: The argument.
        lengths: The length of the rows of each group.
        rotations: The rotation of each token, `(S, D / 2)`, by `Reads.rotation`.
    """

    def __init__(
        self,
        reads: Sequence[Reads],
        shape: tuple[Any, Any],
        padding_mask=None,
        sequence_ids=None,
        whole_rows: bool = False,
    ) -> None:
        self.mask = None if padding_mask is None else ops.cast(padding_mask, "bool")
        self.sequence_ids = sequence_ids
        self.lengths = [shape[1]]
        self.rotations = rotations_of(reads, shape[1])
        self._whole = whole_rows or traced_for_engine()
        self._blocks: dict[int, LocalBlocks] = {}
        if not self._whole:
            self._blocks = self._local_blocks(windows_of(reads), shape)
        visible = [_visible(self.mask, sequence_ids)]
        windows = windows_of(reads) - set(self._blocks)
        self._biases = biases_by_window(windows, visible, self.lengths)

    def _local_blocks(
        self, windows: set[int | None], shape: tuple[Any, Any]
    ) -> dict[int, LocalBlocks]:
        """Returns the blocks for the windows that are narrow enough to pay."""
        narrow = [x for x in windows if x is not None and not _short(shape[1], x)]
        if not narrow:
            return {}
        columns = ops.broadcast_to(ops.arange(shape[1], dtype="int32"), shape)
        same, ids = ops.zeros_like(columns), self.sequence_ids
        sequences = same if ids is None else ops.cast(ids, "int32")
        real = same + 1 if self.mask is None else self.mask
        return {x: LocalBlocks(x, columns, sequences, real) for x in narrow}

    def attend(
        self,
        attention: Callable,
        query,
        key,
        value,
        window: int | None = None,
        biases: list[Any] | None = None,
        dropping: bool = False,
        heads_first: bool = True,
    ):
        """Calls `attention` on rows, or blocks, of tokens that see each other.

        Args:
            attention: A function `attention(query, key, value, biases)` of rows, with
                terms to add to the scores. It returns an array like `query`.
            query, key, value: Of each token, `(B, S, N, D)`.
            window: The window of the layer, one of those that the layout was made for.
            biases: Another term of the scores for each group of rows,
                `(1 or b, 1 or N, s, s)`.
            dropping: Whether `attention` drops weights. Then long rows do not attend
                block by block: the blocks' masks would have to be kept.
            heads_first: Whether `attention` takes `(b, N, s, D)`, else `(b, s, N, D)`.

        Returns:
            `(B, S, N D)`.
        """
        blocks = self._blocks.get(window) if window is not None else None
        if blocks is not None and biases is not None:
            raise ValueError(NEEDS_WHOLE_ROWS)
        if blocks is not None:
            return _joined(blocks.attend(attention, query, key, value, heads_first))
        (length,), axis = self.lengths, 2 if heads_first else 1
        (rows,) = self.whole(query, key, value, window, biases, heads_first)
        if isinstance(length, int) and not (self._whole or dropping):
            attended = query_blocks.attend_by_blocks(attention, *rows, axis=axis)
        else:
            attended = attention(*rows)
        return self.join(attended, heads_first)

    def whole(
        self,
        query,
        key,
        value,
        window: int | None = None,
        biases: list[Any] | None = None,
        heads_first: bool = True,
    ) -> list[tuple[Any, Any, Any, list[Any]]]:
        """Returns what `attention` gets of whole rows; see `attend`."""
        terms = [x for x in (*self._biases[window], *(biases or ())) if x is not None]
        if heads_first:
            query, key, value = (swap_heads(x) for x in (query, key, value))
        return [(query, key, value, terms)]

    def join(self, attended, heads_first: bool = True):
        """Returns what whole rows attended to as `(B, S, N D)`."""
        return _joined(swap_heads(attended) if heads_first else attended)

    def without_padding(self, x):
        """Returns `x` unchanged."""
        return x

    def with_padding(self, x):
        """(B, S, H) -> (B, S, H), zeros at padding."""
        if self.mask is None:
            return x
        return ops.where(self.mask[:, :, None], x, ops.zeros_like(x))


def biases_by_window(
    windows: set[int | None], visible: list[Any], lengths: list[Any]
) -> dict[int | None, list[Any]]:
    """Returns the mask biases of the attention scores, by window.

    Args:
        windows: The windows.
        visible: For each group, booleans of shape `(b, 1, 1 or s, s)`, true where a
            query attends to a key; `None` if all queries attend to all keys.
        lengths: The length s of each group.

    Returns:
        By window, for each group 0 or -1e30, float32, `(b or 1, 1, 1 or s, s)`; `None`
        if nothing is masked. Masked weights are exactly zero. Rows without real
        positions have uniform weights, not NaN.
    """
    return {
        window: [
            _bias(seen, length, window)
            for seen, length in zip(visible, lengths, strict=True)
        ]
        for window in windows
    }


def _short(length: Any, window: int) -> bool:
    """Whether rows are known to be so short that blocks do not pay."""
    return isinstance(length, int) and not blocks_pay(length, window)


def _visible(mask, sequence_ids):
    """Returns the keys (last axis) of each query, (B, 1, 1 or S, S), or `None`."""
    visible = None if mask is None else mask[:, None, None, :]
    if sequence_ids is None:
        return visible
    same = sequence_ids[:, None, :, None] == sequence_ids[:, None, None, :]
    return same if visible is None else ops.logical_and(visible, same)


def _bias(visible, length, window):
    if window is not None:
        indices = ops.arange(length, dtype="int32")
        near = ops.abs(indices[:, None] - indices) <= window // 2
        visible = (
            near[None, None] if visible is None else ops.logical_and(visible, near)
        )
    return None if visible is None else mask_bias(visible)


def _joined(x):
    """(B, S, N, D) -> (B, S, N D)."""
    batch, length, num_heads, size = ops.shape(x)
    return ops.reshape(x, (batch, length, num_heads * size))
