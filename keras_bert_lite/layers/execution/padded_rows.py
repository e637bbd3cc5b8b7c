"""The padded layout of a batch: rows, masks and positions for attention."""

from collections.abc import Callable
from typing import Any

from keras import ops

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.attention.rotary import Rotation, rotations
from keras_bert_lite.layers.execution import query_blocks
from keras_bert_lite.layers.execution.engines import traced_for_engine
from keras_bert_lite.layers.execution.local_blocks import (
    LocalBlocks,
    blocks_pay,
    mask_bias,
)


class PaddedRows:
    """The layout of a padded batch `(B, S)`, one group of rows for attention.

    It is created once per call of an encoder and computes the masks and rotations that
    all layers share. `RealTokens` is the layout without padding.

    Args:
        config: The encoder's configuration.
        shape: (B, S), numbers, or tensors if they are only known in a graph.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens; all are
            real if absent.
        sequence_ids: Integers of shape `(B, S)`. Tokens attend only to tokens with
            the same number (several sequences packed in a row).
        weights: Whether attention weights will be asked for, which need whole rows.

    Attributes:
        mask: The padding mask, or None.
        sequence_ids: The argument.
        lengths: The length of the rows of each group.
        biases: Terms to add to the attention scores of each group, by the window
            of a layer (`EncoderConfig.window`).
        rotations: The rotations of the positions of each group, by the base of a
            layer (`EncoderConfig.rotary_base`).
    """

    def __init__(
        self,
        config: EncoderConfig,
        shape: tuple[Any, Any],
        padding_mask=None,
        sequence_ids=None,
        weights: bool = False,
    ) -> None:
        self.num_heads = config.num_heads
        self.mask = None if padding_mask is None else ops.cast(padding_mask, "bool")
        self.sequence_ids = sequence_ids
        self.lengths = [shape[1]]
        visible = [_visible(self.mask, sequence_ids)]
        self.rotations = rotations_by_base(config, self.lengths)
        self._blocks: dict[int, LocalBlocks] = {}
        self._in_blocks = not (weights or traced_for_engine())
        if self._in_blocks and not config.has_relative_scores:
            self._blocks = self._local_blocks(config, shape, sequence_ids)
        windows = windows_of(config) - set(self._blocks)
        self.biases = biases_by_window(windows, visible, self.lengths)

    def _local_blocks(
        self, config: EncoderConfig, shape: tuple[Any, Any], sequence_ids
    ) -> dict[int, LocalBlocks]:
        """Returns the blocks for the windows that are narrow enough to pay."""
        windows = [
            window
            for window in windows_of(config)
            if window is not None and not _short(shape[1], window)
        ]
        if not windows:
            return {}
        columns = ops.broadcast_to(ops.arange(shape[1], dtype="int32"), shape)
        same = ops.zeros_like(columns)
        numbers = (
            columns,
            same if sequence_ids is None else ops.cast(sequence_ids, "int32"),
            same + 1 if self.mask is None else self.mask,
        )
        turns = local_rotations(config, self.rotations)
        return {
            window: LocalBlocks(config.num_heads, window, *numbers, turns)
            for window in windows
        }

    def attend(self, window: int | None, attend: Callable, dropping: bool) -> Any:
        """Calls `attend(rows, long)` with the layout for a layer with a window.

        `long` is whether the rows are to be attended to block by block. With dropout
        (`dropping`) they are not: the blocks' masks would have to be kept.
        """
        (length,) = self.lengths
        long = isinstance(length, int) and length > query_blocks.LONG
        if window in self._blocks:
            return attend(self._blocks[window], False)
        return attend(self, long and self._in_blocks and not dropping)

    def with_neighbours(self, x, axis: int = 2):
        """Returns `x`: keys and values are those of the row."""
        return x

    def cut(self, x):
        """Returns `x`: rows are whole."""
        return x

    join = cut

    def without_padding(self, x):
        """Returns `x` unchanged."""
        return x

    def with_padding(self, x):
        """(B, S, H) -> (B, S, H), zeros at padding."""
        if self.mask is None:
            return x
        return ops.where(self.mask[:, :, None], x, ops.zeros_like(x))

    def split_heads(self, x) -> list[Any]:
        """(B, S, H) -> (B, N, S, D)."""
        length, hidden_dim = ops.shape(x)[1], x.shape[-1]
        shape = (-1, length, self.num_heads, hidden_dim // self.num_heads)
        return [ops.transpose(ops.reshape(x, shape), (0, 2, 1, 3))]

    def join_heads(self, x: list[Any], like):
        """(B, N, S, D) -> (B, S, H), the shape of `like`."""
        (heads,) = x
        return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), ops.shape(like))


def windows_of(config: EncoderConfig) -> set[int | None]:
    """Returns the windows of an encoder's layers."""
    return {config.window(layer) for layer in range(config.num_layers)}


def local_rotations(
    config: EncoderConfig, rotations: dict[float, list[Rotation]]
) -> dict[float, list[Rotation]]:
    """Returns the rotations of the layers that have a window."""
    bases = {
        config.rotary_base(layer)
        for layer in range(config.num_layers)
        if config.window(layer) is not None
    }
    return {base: rotations[base] for base in bases if base is not None}


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


def rotations_by_base(
    config: EncoderConfig, lengths: list[Any]
) -> dict[float, list[Rotation]]:
    """Returns the rotations of positions for each group, by rotary base.

    Positions count from the first token of a row, also for packed sequences: only
    differences of positions matter.
    """
    rotary, size = config.rotary, config.hidden_dim // config.num_heads
    if rotary is None:
        return {}
    bases = {config.rotary_base(layer) for layer in range(config.num_layers)}
    return {
        base: [
            rotations(length, size, base, rotary.scale, rotary.share)
            for length in lengths
        ]
        for base in bases
        if base is not None
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
