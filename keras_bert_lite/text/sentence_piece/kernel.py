"""Calls tensorflow-text's unigram kernel."""

from __future__ import annotations

from collections.abc import Sequence

from keras_bert_lite._tensorflow import tf, tf_text
from keras_bert_lite.text.byte_offsets import Tokens
from keras_bert_lite.text.sentence_piece import kernel_model
from keras_bert_lite.text.sentence_piece.kernel_model import Entry


class Kernel:
    """Tokenizes strings of words.

    The model is a constant of the graph, not a resource that must be tracked.

    Args:
        found: The entries of the model.
        unknown_id: The id of characters that are not pieces.
    """

    def __init__(self, found: Sequence[Entry], unknown_id: int) -> None:
        model = kernel_model.build(found, unknown_id)
        self._op = tf_text.FastSentencepieceTokenizer(model.proto)
        self._ids = tf.constant(model.ids, tf.int32)
        self._lengths = tf.constant(model.lengths, tf.int64)
        self._fuses = tf.constant(model.fuses)

    def __call__(self, strings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the ids and row splits of strings."""
        found, row_splits = self._find(strings)
        return self._fused(found, row_splits, self._repeats(found))

    def tokens(self, strings: tf.Tensor) -> Tokens:
        """Returns tokens with spans in characters of the concatenated strings."""
        found, row_splits = self._find(strings)
        repeats = self._repeats(found)
        lengths = tf.gather(self._lengths, found)
        ends = tf.cumsum(lengths)
        last = tf.logical_not(tf.concat([repeats[1:], tf.zeros_like(repeats[:1])], 0))
        ids, splits = self._fused(found, row_splits, repeats)
        first = tf.logical_not(repeats)
        return Tokens(
            ids,
            splits,
            tf.boolean_mask(ends - lengths, first),
            tf.boolean_mask(ends, last),
        )

    def _find(self, strings: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        found = self._op.tokenize(strings)
        return found.values, tf.cast(found.row_splits, tf.int64)

    def _repeats(self, found: tf.Tensor) -> tf.Tensor:
        """(T,) bool: whether each belongs to the unknown token before it."""
        fuses = tf.gather(self._fuses, found)
        return tf.concat(
            [tf.zeros_like(fuses[:1]), tf.logical_and(fuses[1:], fuses[:-1])], 0
        )

    def _fused(
        self, found: tf.Tensor, row_splits: tf.Tensor, repeats: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        keep = tf.logical_not(repeats)
        kept = tf.concat([[0], tf.cumsum(tf.cast(keep, tf.int64))], 0)
        ids = tf.gather(self._ids, tf.boolean_mask(found, keep))
        return ids, tf.gather(kept, row_splits)
