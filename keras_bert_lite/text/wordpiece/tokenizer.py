"""The WordPiece tokenizer."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Unpack

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf, tf_text
from keras_bert_lite.checks import check_positive
from keras_bert_lite.text import byte_offsets
from keras_bert_lite.text.added_tokens import refuse_flags, replace_tokens
from keras_bert_lite.text.base_tokenizer import Tokenizer, TokenizerOptions
from keras_bert_lite.text.byte_offsets import Tokens, Words
from keras_bert_lite.text.text_files import read_text
from keras_bert_lite.text.wordpiece.character_map import compile_character_map
from keras_bert_lite.text.wordpiece.cleaning import (
    FIRST_SPECIAL_STAND_IN,
    Normalization,
)

_SPECIAL_STAND_INS = "[\ue000-\uf8ff]"
_MAX_BYTES_PER_CHARACTER = 4
MOST_BYTES = 256  # in a piece, without its `##`
MOST_STAND_INS = 0xF900 - FIRST_SPECIAL_STAND_IN


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class WordPieceTokenizer(Tokenizer):
    """Converts strings to WordPiece ids, like Hugging Face's `BertTokenizerFast`.

    Text is cleaned character by character (control characters removed, white
    space unified, Chinese characters set apart, accents stripped, lower-cased)
    and split at white space and punctuation. Each word is split into the longest
    pieces of the vocabulary from left to right. A word that cannot be split, or
    has more than `max_characters_per_word` characters, becomes `unknown_token`.
    Everything runs in TensorFlow and tensorflow-text ops that stock TF Serving
    has. The vocabulary is part of the layer's configuration, so `.keras` files
    and SavedModels contain it.

    Args:
        vocabulary: The pieces in the order of their ids: a list of strings, or
            the path of a text file with one piece per line.
        lowercase: Whether to lower-case the text.
        strip_accents: Whether to remove accents; `None` follows `lowercase`.
        split_cjk: Whether each Chinese character is a word of its own.
        max_characters_per_word: Longer words become `unknown_token`.
        num_model_pieces: Words are split into this many pieces, the first of the
            vocabulary; the others are only matched verbatim. `None` leaves out the
            added and additional special tokens at the end.
        **options: Options of every tokenizer, see `Tokenizer`: `added_tokens`,
            `additional_special_tokens`, `special_tokens_in_text`, `token_flags`
            (`lstrip` of the mask is honored), and the special tokens
            `unknown_token` (`"[UNK]"`), `cls_token` (`"[CLS]"`), `sep_token`
            (`"[SEP]"`), `pad_token` (`"[PAD]"`) and `mask_token` (`"[MASK]"`).

    Call arguments:
        text: Strings of any shape: Python strings, lists, numpy arrays, string
            tensors. Bytes that are not valid UTF-8 are skipped.

    Output shape:
        A `tf.RaggedTensor` of int32 ids with one more dimension than `text`. No
        special tokens are added (`Preprocessor` does that).

    Raises:
        ValueError: If the vocabulary is empty, has duplicates or lacks a
            special token.
        TypeError: If `text` does not consist of strings.

    Example:

    >>> vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "fin", "##e", "day"]
    >>> tokenizer = WordPieceTokenizer(vocabulary)
    >>> tokenizer(["A fine day", "fine!"])
    <tf.RaggedTensor [[4, 5, 6, 7], [5, 6, 1]]>

    Reference: [Wu et al., 2016](https://arxiv.org/abs/1609.08144); `tokenization.py`
    in google-research/bert; [Song et al., 2021](https://arxiv.org/abs/2012.15524)
    for the algorithm of the op.
    """

    SPECIAL_TOKENS: ClassVar = {
        "unknown": "[UNK]",
        "cls": "[CLS]",
        "sep": "[SEP]",
        "pad": "[PAD]",
        "mask": "[MASK]",
    }
    CONTINUATION_MARK = "##"
    SHOWS_UNKNOWN = True

    def __init__(
        self,
        vocabulary: Sequence[str] | str | PathLike,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        split_cjk: bool = True,
        max_characters_per_word: int = 100,
        num_model_pieces: int | None = None,
        **options: Unpack[TokenizerOptions],
    ) -> None:
        if isinstance(vocabulary, (str, PathLike)):
            vocabulary = read_vocabulary(vocabulary)
        super().__init__(vocabulary, **options)
        check_positive("max_characters_per_word", max_characters_per_word)
        _check_lengths(self._pieces)
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split_cjk = split_cjk
        self.max_characters_per_word = max_characters_per_word
        mask = {self._roles["mask"]: {"lstrip"}}
        refuse_flags(self._found_in_text, self.token_flags, mask)
        _check_room_for_stand_ins(self._found_in_text)
        if num_model_pieces is None:
            num_model_pieces = self._count_model_pieces()
        if not self.unknown_id < num_model_pieces <= len(self._pieces):
            raise ValueError(
                "`num_model_pieces` must include the unknown token, with id "
                f"{self.unknown_id}, and be at most {len(self._pieces)}. "
                f"Received: {num_model_pieces}"
            )
        self.num_model_pieces = num_model_pieces
        with tf.init_scope():
            self._build_ops()

    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        words = tf.gather(tf.constant(self._pieces), ids)
        text = tf.strings.reduce_join(words, axis=-1, separator=" ")
        return tf.strings.regex_replace(text, " ##", "")

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "split_cjk": self.split_cjk,
            "max_characters_per_word": self.max_characters_per_word,
            "num_model_pieces": self.num_model_pieces,
        }

    def _config_of(self, ids: list[int]) -> dict[str, Any]:
        count = bisect.bisect_left(ids, self.num_model_pieces)
        return {**super()._config_of(ids), "num_model_pieces": count}

    @property
    def _found_in_text(self) -> list[str]:
        """Tokens to look for in the text."""
        special = self.special_tokens if self.special_tokens_in_text else []
        return list(dict.fromkeys([*self.added_tokens, *special]))

    def _count_model_pieces(self) -> int:
        count = len(self._pieces)
        added = {*self.added_tokens, *self.additional_special_tokens}
        while count > self.unknown_id + 1 and self._pieces[count - 1] in added:
            count -= 1
        return count

    def _build_ops(self) -> None:
        strip = self.lowercase if self.strip_accents is None else self.strip_accents
        normalization = Normalization(self.lowercase, strip, self.split_cjk)
        count = self.num_model_pieces
        pieces = [normalization.map_piece(piece) for piece in self._pieces[:count]]
        # Stand-ins are extra pieces at the end, so that words can still be split
        # into a piece that is also such a token.
        found = self._found_in_text
        stand_ins = {
            token: chr(FIRST_SPECIAL_STAND_IN + i) for i, token in enumerate(found)
        }
        pieces += stand_ins.values()
        self._stand_ins = stand_ins
        self._token_ids_found = tf.constant(
            [*range(count), *(self._ids[token] for token in found)]
        )
        self._normalizer = tf_text.FastBertNormalizer(
            model_buffer=_character_map(normalization, len(stand_ins))
        )
        self._splitter = _make_splitter(
            pieces, self.unknown_id, self.max_characters_per_word
        )
        self._continues = tf.constant(self.continuations())

    def _tokenize(self, source: tf.Tensor) -> Tokens:
        normalized = self._normalizer.normalize(self._mark(source))
        return self._split(normalized)

    def _tokenize_with_offsets(
        self, source: tf.Tensor
    ) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        marked = self._mark(source)
        normalized, origins = self._normalizer.normalize_with_offsets(marked)
        tokens = self._split(normalized)
        starts, ends = byte_offsets.original_spans(tokens, origins, marked, source)
        return tokens, starts, ends

    def _mark(self, strings: tf.Tensor) -> tf.Tensor:
        """Replaces special tokens by stand-ins of the same length in bytes."""
        if not self._stand_ins:
            return strings
        replace = tf.strings.regex_replace
        filler = chr(byte_offsets.FILLER)
        strings = replace(strings, filler, "\x01")
        strings = replace(strings, _SPECIAL_STAND_INS, "\x01\x01\x01")
        return replace_tokens(
            strings,
            {
                token: stand_in
                + filler * (len(token.encode()) - len(stand_in.encode()))
                for token, stand_in in self._stand_ins.items()
            },
        )

    def piece_texts(self) -> list[tuple[str, bool]]:
        mark = self.CONTINUATION_MARK
        return [(piece, piece.startswith(mark)) for piece in self._pieces]

    def continuations(self) -> np.ndarray:
        return np.array([continues for _, continues in self.piece_texts()])

    def continues_word(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.gather(self._continues, ids)

    def _split(self, normalized: tf.Tensor) -> Tokens:
        ids, starts, ends = self._splitter.tokenize_with_offsets(normalized)
        values = ids.flat_values
        if self._stand_ins:
            values = tf.gather(self._token_ids_found, values)
        tokens = Tokens(values, ids.row_splits, starts.flat_values, ends.flat_values)
        # The op limits the bytes of a word, to four times the number of characters.
        continues = tf.gather(self._continues, tokens.ids)
        words = Words.of(tokens, continues)
        longest = tf.reduce_max(words.ends - words.starts)
        return tf.cond(
            longest > self.max_characters_per_word,
            lambda: self._without_long_words(normalized, tokens, words, continues),
            lambda: tokens,
        )

    def _without_long_words(
        self,
        normalized: tf.Tensor,
        tokens: Tokens,
        words: Words,
        continues: tf.Tensor,
    ) -> Tokens:
        lengths = words.count_code_points(normalized, tokens)
        word_of_token = tf.cumsum(1 - tf.cast(continues, tf.int32)) - 1
        long = tf.gather(lengths > self.max_characters_per_word, word_of_token)
        keep = tf.logical_not(tf.logical_and(long, continues))
        kept = tf.concat([[0], tf.cumsum(tf.cast(keep, tf.int64))], 0)
        ids = tf.where(long, self.unknown_id, tokens.ids)
        ends = tf.where(long, tf.gather(words.ends, word_of_token), tokens.ends)
        return Tokens(
            tf.boolean_mask(ids, keep),
            tf.gather(kept, tokens.row_splits),
            tf.boolean_mask(tokens.starts, keep),
            tf.boolean_mask(ends, keep),
        )


def _make_splitter(
    pieces: Sequence[str], unknown_id: int, most_characters: int
) -> tf_text.FastWordpieceTokenizer:
    try:
        return tf_text.FastWordpieceTokenizer(
            pieces,
            max_bytes_per_word=_MAX_BYTES_PER_CHARACTER * most_characters,
            token_out_type=tf.int32,
            unknown_token=pieces[unknown_id],
        )
    except RuntimeError as error:  # tensorflow-text's, which names no argument
        raise ValueError(
            "`vocabulary` must have pieces that form words, not only special tokens. "
            f"Received: {len(pieces)} pieces; tensorflow-text says: {error}"
        ) from error


def _check_lengths(pieces: list[str]) -> None:
    longest = max(len(piece.removeprefix("##").encode()) for piece in pieces)
    if longest > MOST_BYTES:
        piece = max(pieces, key=lambda piece: len(piece.encode()))
        raise ValueError(
            f"`vocabulary` must have pieces of at most {MOST_BYTES} bytes, the "
            f"limit of the op. Received: {piece!r:.50}, of {longest} bytes"
        )


def _check_room_for_stand_ins(special_tokens: list[str]) -> None:
    short = [token for token in special_tokens if len(token.encode()) < 3]
    if short or len(special_tokens) > MOST_STAND_INS:
        raise ValueError(
            "`added_tokens`, and special tokens with `special_tokens_in_text`, must "
            f"have at least 3 bytes each and be {MOST_STAND_INS} at most. Received: "
            f"{short or len(special_tokens)}"
        )


@functools.cache
def _character_map(normalization: Normalization, num_special: int) -> bytes:
    images = normalization.code_point_map()
    special = range(FIRST_SPECIAL_STAND_IN, FIRST_SPECIAL_STAND_IN + num_special)
    return compile_character_map(images | {c: f" {chr(c)} " for c in special})


def read_vocabulary(path: str | PathLike) -> list[str]:
    """Reads a `vocab.txt`: one piece per line, in the order of the ids.

    Lines end in LF, CRLF or CR.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not UTF-8.
    """
    text = read_text(path).replace("\r\n", "\n").replace("\r", "\n")
    return text.removesuffix("\n").split("\n")
