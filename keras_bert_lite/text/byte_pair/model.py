"""Byte-level BPE of plain text: looks words up and merges the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.byte_pair.byte_level import BYTES, piece_bytes
from keras_bert_lite.text.byte_pair.merger import Merger
from keras_bert_lite.text.byte_pair.merges import Merges
from keras_bert_lite.text.byte_pair.words import WordFinder, Words


class BytePairModel:
    """Splits strings into the pieces of a byte-level BPE vocabulary.

    Most words are one piece and are looked up. Only the others are built from
    bytes by the merges, each distinct word once.

    Args:
        ids: The vocabulary, in the order of the ids 0 to V - 1.
        merges: The merges in the order they were learned, each `"a b"`.
        split_pattern: The pattern of words, one of `PATTERNS`.
        whole: Pieces that need no merges if they are whole words; those that are not
            written in `byte_level`'s characters are no words.
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        merges: Sequence[str],
        split_pattern: str,
        whole: Collection[str] = (),
    ) -> None:
        self.merges = tuple(merges)
        learned = self.learned = Merges(self.merges, ids)
        self._merger = Merger(learned, ids)
        whole = {x for x in whole if BYTES.keys() >= set(x)}
        words = [_text(x) if x in learned or x in whole else None for x in ids]
        self._missing = len(words)
        self._finder = WordFinder([*words, None], self._missing, split_pattern)
        self._refuse_long(whole - learned.ranks.keys())
        signature = [tf.TensorSpec([None], tf.string)]
        self._traced = tf.function(self._split, signature, autograph=False)

    def _refuse_long(self, pieces: Collection[str]) -> None:
        """Refuses words that would have to be found whole, but are too long for it."""
        texts = (text for text in map(_text, pieces) if text is not None)
        long = [text for text in texts if not self._finder.looks_up(text)]
        if long:
            raise ValueError(
                "`ignore_merges` is possible only if merges form the longest pieces "
                "(50 characters; 200, if they are Latin letters, digits or common "
                f"marks). Received no merges for: {long[0]!r} ({len(long)} in all)"
            )

    def split(self, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Splits (B,) strings of valid UTF-8.

        Returns:
            `(ids, row_splits)`: (T,) int32 and (B + 1,) int64.
        """
        # A hundred eager ops take 30 times as long as their graph. Inside a graph,
        # however, calls of one function would wait for each other.
        return self._traced(source) if tf.executing_eagerly() else self._split(source)

    def _split(self, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        words = self._finder.find(source)
        missing = tf.where(tf.equal(words.ids, self._missing))[:, 0]
        return tf.cond(
            tf.size(missing) > 0,
            lambda: self._with_merged(words, missing, source),
            lambda: (words.ids, words.row_splits),
        )

    def _with_merged(
        self, words: Words, missing: tf.Tensor, source: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        strings, which = tf.unique(words.strings(missing, source))
        pieces, splits = self._merger.split(strings)
        count = tf.size(words.ids, tf.int64)
        firsts = count + tf.gather(splits[:-1], which)
        counts = tf.gather(splits[1:] - splits[:-1], which)
        update, where = tf.tensor_scatter_nd_update, missing[:, None]
        tokens, row_splits = joined(
            update(tf.range(count), where, firsts),
            update(tf.ones([count], tf.int64), where, counts),
            words.row_splits,
        )
        return tf.gather(tf.concat([words.ids, pieces], 0), tokens), row_splits


def joined(
    firsts: tf.Tensor, counts: tf.Tensor, row_splits: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Replaces each element of the rows by a stretch of other elements.

    Args:
        firsts: (W,) int64, the start of each element's stretch.
        counts: (W,) int64, the length of each stretch.
        row_splits: (B + 1,) int64, the rows of the elements.

    Returns:
        The indices of the new elements and the row splits of their rows.
    """
    stretches = tf.ragged.range(firsts, firsts + counts)
    return stretches.values, tf.gather(stretches.row_splits, row_splits)


def _text(piece: str) -> str | None:
    try:
        return piece_bytes(piece).decode()
    except UnicodeDecodeError:
        return None  # only part of a character, so not a word
