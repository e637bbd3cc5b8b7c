"""The layout for engines that fuse attention: whole rows there, tokens elsewhere."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_bert_lite.layers.execution.padded_rows import PaddedRows
from keras_bert_lite.layers.execution.reads import Reads


class WholeRows(PaddedRows):
    """The T real tokens of a padded batch `(B, S)`, which attend as padded rows.

    Between `without_padding` and `with_padding`, layers get `(T, H)`. Attention is that
    of `PaddedRows`, which OpenVINO fuses, with a gather before and after it. Fused
    attention is so fast that the groups of `RealTokens`, which save padding there too,
    cost more operations than they save.

    Args:
        reads: What the attention layers read from it.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens, of which there is
            at least one.
    """

    def __init__(self, reads: Sequence[Reads], padding_mask: tf.Tensor) -> None:
        batch, length = tf.unstack(tf.shape(padding_mask))
        super().__init__(reads, (batch, length), padding_mask)
        real = tf.reshape(padding_mask, [-1])
        self._position_of_token = tf.cast(tf.where(real)[:, 0], tf.int32)  # (T,)
        numbers = tf.cumsum(tf.cast(real, tf.int32))  # from 1
        # Padding gets the token before it; any finite vector would do.
        tokens = tf.maximum(numbers - 1, 0)
        self._token_of_position = tf.reshape(tokens, [batch, length])
        columns = self._position_of_token % length
        self.rotations = {
            key: type(rotation)(*(tf.gather(x, columns) for x in rotation))
            for key, rotation in self.rotations.items()
        }

    def without_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(B, S, H) -> (T, H)."""
        return tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self._position_of_token)

    def with_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(T, H) -> (B, S, H), zeros at padding."""
        return super().with_padding(tf.gather(x, self._token_of_position))

    def whole(self, query, key, value, *args: Any, **options: Any) -> list[Any]:
        """Returns what attention gets, of `(T, N, D)`; any values at padding."""
        heads = (tf.gather(x, self._token_of_position) for x in (query, key, value))
        return super().whole(*heads, *args, **options)

    def join(self, attended: tf.Tensor, heads_first: bool = True) -> tf.Tensor:
        """Returns what whole rows attended to as `(T, N D)`."""
        x = super().join(attended, heads_first)
        return tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self._position_of_token)
