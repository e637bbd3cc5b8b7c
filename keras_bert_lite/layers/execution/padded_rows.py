"""The padded layout of a batch: rows, masks and positions for attention."""

from typing import Any

from keras import ops

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.attention.rotary import Rotation, rotations


class PaddedRows:
    """The layout of a padded batch `(B, S)`, one group of rows for attention.

    It is created once per call of an encoder and computes the masks and rotations that
    all layers share. `RealTokens` is the layout without padding.

    Args:
        config: The encoder's configuration.
        length: S, a number, or a tensor if it is only known in a graph.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens; all are
            real if absent.
        sequence_ids: Integers of shape `(B, S)`. Tokens attend only to tokens with
            the same number (several sequences packed in a row).

    Attributes:
        mask: The padding mask, or None.
        lengths: The length of the rows of each group.
        biases: Terms to add to the attention scores of each group, by the window
            of a layer (`EncoderConfig.window`).
        rotations: The rotations of the positions of each group, by the base of a
            layer (`EncoderConfig.rotary_base`).
    """

    def __init__(
        self, config: EncoderConfig, length: Any, padding_mask=None, sequence_ids=None
    ) -> None:
        self.num_heads = config.num_heads
        self.mask = None if padding_mask is None else ops.cast(padding_mask, "bool")
        self.lengths = [length]
        visible = [_visible(self.mask, sequence_ids)]
        self.biases = biases_by_window(config, visible, self.lengths)
        self.rotations = rotations_by_base(config, self.lengths)

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


def biases_by_window(
    config: EncoderConfig, visible: list[Any], lengths: list[Any]
) -> dict[int | None, list[Any]]:
    """Returns the mask biases of the attention scores, by window.

    Args:
        config: The encoder's configuration, which has the windows of its layers.
        visible: For each group, booleans of shape `(b, 1, 1 or s, s)`, true where a
            query attends to a key; `None` if all queries attend to all keys.
        lengths: The length s of each group.

    Returns:
        By window, for each group 0 or -1e30, float32, `(b or 1, 1, 1 or s, s)`; `None`
        if nothing is masked. Masked weights are exactly zero. Rows without real
        positions have uniform weights, not NaN.
    """
    windows = {config.window(layer) for layer in range(config.num_layers)}
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
    return None if visible is None else ops.where(visible, 0.0, -1e30)
