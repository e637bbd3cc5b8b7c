"""The layout for engines that fuse attention: whole rows there, tokens elsewhere."""

from collections.abc import Sequence

import tensorflow as tf

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.execution.padded_rows import PaddedRows


class WholeRows(PaddedRows):
    """The T real tokens of a padded batch `(B, S)`, which attend as padded rows.

    Between `without_padding` and `with_padding`, layers get `(T, H)`. Attention is that
    of `PaddedRows`, which OpenVINO fuses, with a gather before and after it. Fused
    attention is so fast that the groups of `RealTokens`, which save padding there too,
    cost more operations than they save.

    Args:
        config: The encoder's configuration.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens, of which there is
            at least one.
    """

    def __init__(self, config: EncoderConfig, padding_mask: tf.Tensor) -> None:
        batch, length = tf.unstack(tf.shape(padding_mask))
        super().__init__(config, (batch, length), padding_mask)
        real = tf.reshape(padding_mask, [-1])
        self._position_of_token = tf.cast(tf.where(real)[:, 0], tf.int32)  # (T,)
        numbers = tf.cumsum(tf.cast(real, tf.int32))  # from 1
        # Padding gets the token before it; any finite vector would do.
        tokens = tf.maximum(numbers - 1, 0)
        self._token_of_position = tf.reshape(tokens, [batch, length])

    def without_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(B, S, H) -> (T, H)."""
        return tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self._position_of_token)

    def with_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(T, H) -> (B, S, H), zeros at padding."""
        return super().with_padding(tf.gather(x, self._token_of_position))

    def split_heads(self, x: tf.Tensor) -> list[tf.Tensor]:
        """(T, H) -> (B, N, S, D); any finite values at padding."""
        return super().split_heads(tf.gather(x, self._token_of_position))

    def join_heads(self, x: Sequence[tf.Tensor], like: tf.Tensor) -> tf.Tensor:
        """(B, N, S, D) -> (T, H), the shape of `like`."""
        (heads,) = x
        rows = tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), [-1, like.shape[-1]])
        return tf.gather(rows, self._position_of_token)
