"""Words of byte-level BPE: found by a pattern, looked up whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keras_bert_lite._tensorflow import tf, tf_text
from keras_bert_lite.text.byte_pair.alphabet import UNREACHABLE, Alphabet
from keras_bert_lite.text.byte_pair.patterns import PATTERNS
from keras_bert_lite.text.wordpiece.character_map import compile_character_map

MAX_BYTES_PER_WORD = 200  # in stand-ins; longer ones are not looked up


class Words(NamedTuple):
    """The W words of a flat batch of B strings."""

    ids: tf.Tensor  # (W,) int32; `missing_id` if the word is not a piece
    row_splits: tf.Tensor  # (B + 1,) int64
    ends: tf.Tensor  # (W,) int64, in bytes of the concatenated normalized strings
    starts: tf.Tensor  # (W,) int64
    origins: tf.RaggedTensor  # see `FastBertNormalizer.normalize_with_offsets`

    def strings(self, chosen: tf.Tensor, source: tf.Tensor) -> tf.Tensor:
        """Returns the strings (C,) of chosen words, given as C increasing indices."""
        bounds = tf.searchsorted(chosen, self.row_splits)
        rows = tf.searchsorted(self.row_splits, chosen, side="right") - 1

        def spans(positions):
            # Each string has one more origin than bytes, for its end.
            index = tf.gather(positions, chosen) + tf.cast(rows, tf.int64)
            values = tf.gather(self.origins.flat_values, index)
            return tf.RaggedTensor.from_row_splits(
                tf.cast(values, tf.int32), tf.cast(bounds, tf.int64), validate=False
            )

        splitter = tf_text.ByteSplitter()
        strings = splitter.split_by_offsets(
            source, spans(self.starts), spans(self.ends)
        )
        return strings.flat_values


class WordFinder:
    """Finds words and looks each up in the vocabulary.

    Args:
        pieces: The pieces' texts in the order of their ids; `None` for pieces
            that are not words.
        missing_id: The id of words that are not among the pieces.
        split_pattern: The pattern of words, one of `PATTERNS`.
    """

    def __init__(
        self, pieces: Sequence[str | None], missing_id: int, split_pattern: str
    ) -> None:
        pattern = PATTERNS[split_pattern]
        characters = {x for piece in pieces if piece for x in piece}
        self._alphabet = alphabet = Alphabet(characters.union(pattern.characters))
        table = compile_character_map(alphabet.images)
        self._writer = tf_text.FastBertNormalizer(model_buffer=table)
        written = [
            self._written(piece) or f"{UNREACHABLE}{i}"
            for i, piece in enumerate(pieces)
        ]
        self._kernel = tf_text.FastWordpieceTokenizer(
            written,
            max_bytes_per_word=MAX_BYTES_PER_WORD,
            token_out_type=tf.int32,
            unknown_token=written[missing_id],
        )
        self._spaces, self._words = pattern.written(alphabet)

    def looks_up(self, word: str) -> bool:
        """Returns whether a word is not too long to be found as a piece."""
        return self._written(word) is not None

    def _written(self, word: str | None) -> str | None:
        text = self._alphabet.write(word) if word else None
        fits = text is not None and len(text.encode()) <= MAX_BYTES_PER_WORD
        return text if fits else None

    def find(self, source: tf.Tensor) -> Words:
        """Returns the words of (B,) strings."""
        written, origins = self._writer.normalize_with_offsets(source)
        split = tf.strings.regex_replace(written, self._spaces, r"\1 \2")
        split = tf.strings.regex_replace(split, self._words, r"\0 ")
        ids, starts, ends = self._kernel.tokenize_with_offsets(split)
        # Words are separated only by the spaces inserted here.
        lengths = ends.flat_values - starts.flat_values
        ends = tf.cumsum(tf.cast(lengths, tf.int64))
        starts = ends - tf.cast(lengths, tf.int64)
        return Words(ids.flat_values, ids.row_splits, ends, starts, origins)
