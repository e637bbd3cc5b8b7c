"""Overlapping windows over texts that are too long for one row."""

from __future__ import annotations

from typing import NamedTuple

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.ragged import repeat, repeated_places


class Windows(NamedTuple):
    """N windows over the T tokens of B texts; every text has at least one.

    M counts the tokens of all windows; a token in k windows counts k times.
    """

    num_rows: tf.Tensor  # () int64: B
    rows: tf.Tensor  # (N,) int64: the text, in increasing order
    lengths: tf.Tensor  # (N,) int64: the number of tokens in the window
    tokens: tf.Tensor  # (M,) int64: the index among the tokens of all texts

    @property
    def windows(self) -> tf.Tensor:
        """(M,) int64: the window that holds the token."""
        return repeated_places(self.lengths)

    @property
    def text_of_tokens(self) -> tf.Tensor:
        """(M,) int64: the text that the token is from."""
        return repeat(self.rows, self.lengths)

    @property
    def positions(self) -> tf.Tensor:
        """(M,) int64: the position of the token in its window."""
        return _places(self.lengths)

    def has_most_context(self) -> tf.Tensor:
        """(M,) bool: whether no other window gives the token more context.

        The context is the smaller number of tokens to its left or right, plus a
        hundredth of the window's length. Of equal windows the first is chosen,
        so that it is true exactly once for each token.

        Reference: `_check_is_max_context` in google-research/bert, run_squad.py.
        """
        windows, positions = self.windows, self.positions
        length = tf.gather(self.lengths, windows)
        score = 100 * tf.minimum(positions, length - 1 - positions) + length
        size = tf.reduce_max(tf.concat([self.tokens, [-1]], 0)) + 1
        best = tf.math.unsorted_segment_max(score, self.tokens, size)
        among = tf.equal(score, tf.gather(best, self.tokens))
        candidates = tf.where(among, windows, tf.int64.max)
        first = tf.math.unsorted_segment_min(candidates, self.tokens, size)
        return tf.equal(candidates, tf.gather(first, self.tokens))

    def by_row(self, x: tf.Tensor, fill: int | bool) -> tf.Tensor:
        """Groups windows `(N, S)` by text: `(B, W, S)`."""
        ragged = tf.RaggedTensor.from_value_rowids(
            x, self.rows, self.num_rows, validate=False
        )
        return ragged.to_tensor(tf.cast(fill, x.dtype))


def cut(lengths: tf.Tensor, room: tf.Tensor, stride: int) -> Windows:
    """Cuts texts into windows.

    A window begins `room - stride` tokens after the one before; the last ends
    with the text.

    Args:
        lengths: (B,) int64, tokens of each text.
        room: (B,) int64, the maximum number of tokens in a window, at least 1.
        stride: Tokens that adjacent windows share; at most half of `room` is used.

    Reference: `_add_overflow` of Hugging Face's fast tokenizers; `doc_spans` in
    google-research/bert, run_squad.py.
    """
    room = tf.maximum(room, 1)
    step = room - tf.minimum(tf.cast(stride, tf.int64), room // 2)
    counts = 1 + tf.maximum(lengths - room + step - 1, 0) // step
    rows = repeated_places(counts)
    begins = _places(counts) * tf.gather(step, rows)
    held = tf.minimum(tf.gather(lengths, rows) - begins, tf.gather(room, rows))
    firsts = tf.gather(tf.cumsum(lengths, exclusive=True), rows) + begins
    tokens = repeat(firsts, held) + _places(held)
    return Windows(tf.size(lengths, tf.int64), rows, held, tokens)


def _places(lengths: tf.Tensor) -> tf.Tensor:
    """Returns 0, 1, ... in each of several runs: [2, 3] -> [0, 1, 0, 1, 2]."""
    begins = tf.cumsum(lengths, exclusive=True)
    return tf.range(tf.reduce_sum(lengths)) - repeat(begins, lengths)
