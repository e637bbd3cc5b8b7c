"""The WordPiece tokenizer."""

import collections
import functools
import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
import tensorflow_text as tf_text

from keras_bert_lite.text import offsets
from keras_bert_lite.text.character_map import compile_character_map
from keras_bert_lite.text.layer import TextLayer, as_strings
from keras_bert_lite.text.normalization import (
    FIRST_SPECIAL_STAND_IN,
    Normalization,
)
from keras_bert_lite.text.offsets import Tokens, Words

# Valid UTF-8, for RE2: anything but surrogates, which it lets through.
_VALID_UTF8 = r"(?s)[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"
_SPECIAL_STAND_INS = "[\ue000-\uf8ff]"
_MAX_BYTES_PER_CHARACTER = 4


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class WordPieceTokenizer(TextLayer):
    """Turns strings into WordPiece ids, as Hugging Face's `BertTokenizerFast`.

    Text is cleaned character by character (control characters removed, white
    space unified, Chinese characters set apart, accents stripped, lower-cased),
    split at white space and punctuation, and each word is split into the
    longest pieces of the vocabulary from left to right; a word that cannot be
    split, or has more than `max_characters_per_word` characters, becomes
    `unknown_token`. All of it runs in three tensorflow-text and TensorFlow ops
    that stock TF Serving has; the vocabulary lives in the layer's configuration
    and so travels inside `.keras` files and SavedModels.

    Args:
        vocabulary: The pieces in the order of their ids: a list of strings, or
            the path of a text file with one piece a line.
        lowercase: Whether to lower-case the text.
        strip_accents: Whether to remove accents; `None` follows `lowercase`.
        split_cjk: Whether each Chinese character is a word of its own.
        special_tokens_in_text: Whether `[MASK]`, `[SEP]` and the other special
            tokens are recognized when they stand in the text. By default they
            are plain text: brackets and a word.
        unknown_token, cls_token, sep_token, pad_token, mask_token: The special
            tokens. All but `mask_token` must be in the vocabulary.
        max_characters_per_word: Longer words become `unknown_token`.

    Call arguments:
        text: Strings of any shape: Python strings, lists, numpy arrays, string
            tensors. Bytes that are not valid UTF-8 are skipped.

    Output shape:
        A `tf.RaggedTensor` of int32 ids, one dimension more than `text`; no
        special tokens are added (`Preprocessor` does that).

    Raises:
        ValueError: If the vocabulary is empty, has duplicates or lacks a
            special token.
        TypeError: If `text` is not made of strings.

    Example:

    >>> vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "fin", "##e", "day"]
    >>> tokenizer = WordPieceTokenizer(vocabulary)
    >>> tokenizer(["A fine day", "fine!"])
    <tf.RaggedTensor [[4, 5, 6, 7], [5, 6, 1]]>

    Reference: [Wu et al., 2016](https://arxiv.org/abs/1609.08144); `tokenization.py`
    in google-research/bert; [Song et al., 2021](https://arxiv.org/abs/2012.15524)
    for the algorithm of the op.
    """

    def __init__(
        self,
        vocabulary: Sequence[str] | str | PathLike,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        split_cjk: bool = True,
        special_tokens_in_text: bool = False,
        unknown_token: str = "[UNK]",
        cls_token: str = "[CLS]",
        sep_token: str = "[SEP]",
        pad_token: str = "[PAD]",
        mask_token: str = "[MASK]",
        max_characters_per_word: int = 100,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(vocabulary, (str, PathLike)):
            vocabulary = read_vocabulary(vocabulary)
        self._pieces = _check_pieces(vocabulary)
        if max_characters_per_word < 1:
            raise ValueError(
                "`max_characters_per_word` must be at least 1. "
                f"Received: {max_characters_per_word}"
            )
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split_cjk = split_cjk
        self.special_tokens_in_text = special_tokens_in_text
        self.unknown_token = unknown_token
        self.cls_token = cls_token
        self.sep_token = sep_token
        self.pad_token = pad_token
        self.mask_token = mask_token
        self.max_characters_per_word = max_characters_per_word
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self._check_special_tokens()
        with tf.init_scope():
            self._build_ops()

    def get_vocabulary(self) -> list[str]:
        """Returns the pieces in the order of their ids."""
        return list(self._pieces)

    def vocabulary_size(self) -> int:
        """Returns the number of pieces."""
        return len(self._pieces)

    def id_to_token(self, id: int) -> str:
        """Returns the piece of an id."""
        if not 0 <= id < len(self._pieces):
            raise ValueError(
                f"`id` must be in [0, {len(self._pieces)}). Received: {id}"
            )
        return self._pieces[id]

    def token_to_id(self, token: str) -> int:
        """Returns the id of a piece."""
        if token not in self._ids:
            raise ValueError(
                f"`token` must be in the vocabulary. Received: {token!r}"
            )
        return self._ids[token]

    @property
    def special_tokens(self) -> list[str]:
        """The special tokens that the vocabulary has."""
        named = (
            self.unknown_token,
            self.cls_token,
            self.sep_token,
            self.pad_token,
            self.mask_token,
        )
        return [token for token in dict.fromkeys(named) if token in self._ids]

    @property
    def pad_id(self) -> int:
        return self._ids[self.pad_token]

    @property
    def cls_id(self) -> int:
        return self._ids[self.cls_token]

    @property
    def sep_id(self) -> int:
        return self._ids[self.sep_token]

    @property
    def unknown_id(self) -> int:
        return self._ids[self.unknown_token]

    def call(self, text: Any) -> tf.RaggedTensor:
        strings = as_strings(text, "text")
        tokens = self._tokenize(_valid(_flat(strings)))
        return _shaped_like(tokens.ids, tokens.row_splits, strings)

    def compute_output_spec(self, text: Any) -> keras.KerasTensor:
        raise NotImplementedError(
            "A tokenizer's ragged output cannot be the input of a Keras layer. "
            "Use `Preprocessor(tokenizer)` in a functional model."
        )

    def tokenize_with_offsets(
        self, text: Any
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Returns ids and where each token stands in the string it came from.

        Returns:
            `(ids, starts, ends)`, ragged int32 tensors of one shape. Offsets
            count code points of the original string (bytes that are not valid
            UTF-8 do not count) and `ends` is exclusive, as in Hugging Face's
            `offset_mapping`.
        """
        strings = as_strings(text, "text")
        source = _valid(_flat(strings))
        tokens, starts, ends = self._tokenize_with_offsets(source)
        return tuple(
            _shaped_like(values, tokens.row_splits, strings)
            for values in (tokens.ids, starts, ends)
        )

    def detokenize(self, ids: Any, skip_special_tokens: bool = True) -> tf.Tensor:
        """Joins pieces to words and words with spaces.

        Args:
            ids: Integers of shape `(sequence,)` or `(batch, sequence)`, dense
                or ragged.
            skip_special_tokens: Whether to leave out special tokens other
                than `unknown_token`.

        Returns:
            String tensor of shape `()` or `(batch,)`.
        """
        ragged = _as_ragged_ids(ids)
        if ragged.shape.rank == 1:
            row = self.detokenize(tf.expand_dims(ragged, 0), skip_special_tokens)
            return row[0]
        self._refuse_foreign_ids(ragged.flat_values)
        if skip_special_tokens:
            special = [self._ids[t] for t in self.special_tokens]
            special = [i for i in special if i != self.unknown_id]
            kept = tf.reduce_all(ragged.flat_values[:, None] != special, axis=-1)
            ragged = tf.ragged.boolean_mask(ragged, ragged.with_flat_values(kept))
        words = tf.gather(tf.constant(self._pieces), ragged)
        text = tf.strings.reduce_join(words, axis=-1, separator=" ")
        return tf.strings.regex_replace(text, " ##", "")

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "vocabulary": self.get_vocabulary(),
            "lowercase": self.lowercase,
            "strip_accents": self.strip_accents,
            "split_cjk": self.split_cjk,
            "special_tokens_in_text": self.special_tokens_in_text,
            "unknown_token": self.unknown_token,
            "cls_token": self.cls_token,
            "sep_token": self.sep_token,
            "pad_token": self.pad_token,
            "mask_token": self.mask_token,
            "max_characters_per_word": self.max_characters_per_word,
        }

    def _check_special_tokens(self) -> None:
        for role in ("unknown", "cls", "sep", "pad"):
            token = getattr(self, f"{role}_token")
            if token not in self._ids:
                raise ValueError(
                    f"`vocabulary` must contain the {role} token {token!r}. "
                    f"Received {len(self._pieces)} pieces without it."
                )

    def _build_ops(self) -> None:
        strip = self.lowercase if self.strip_accents is None else self.strip_accents
        normalization = Normalization(self.lowercase, strip, self.split_cjk)
        pieces = [normalization.map_piece(piece) for piece in self._pieces]
        stand_ins = {}
        if self.special_tokens_in_text:
            for i, token in enumerate(self.special_tokens):
                stand_ins[token] = chr(FIRST_SPECIAL_STAND_IN + i)
                pieces[self._ids[token]] = stand_ins[token]
        self._stand_ins = stand_ins
        self._normalizer = tf_text.FastBertNormalizer(
            model_buffer=_character_map(normalization, len(stand_ins))
        )
        self._splitter = tf_text.FastWordpieceTokenizer(
            pieces,
            max_bytes_per_word=_MAX_BYTES_PER_CHARACTER * self.max_characters_per_word,
            token_out_type=tf.int32,
            unknown_token=pieces[self.unknown_id],
        )
        self._continues = tf.constant([p.startswith("##") for p in self._pieces])

    def _tokenize(self, source: tf.Tensor) -> Tokens:
        normalized = self._normalizer.normalize(self._mark(source))
        return self._split(normalized)

    def _tokenize_with_offsets(
        self, source: tf.Tensor
    ) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        marked = self._mark(source)
        normalized, origins = self._normalizer.normalize_with_offsets(marked)
        tokens = self._split(normalized)
        starts, ends = offsets.original_spans(tokens, origins, marked, source)
        return tokens, starts, ends

    def _mark(self, strings: tf.Tensor) -> tf.Tensor:
        """Puts stand-ins for special tokens, at equal length in bytes."""
        if not self._stand_ins:
            return strings
        replace = tf.strings.regex_replace
        filler = chr(offsets.FILLER)
        strings = replace(strings, filler, "\x01")
        strings = replace(strings, _SPECIAL_STAND_INS, "\x01\x01\x01")
        for token, stand_in in self._stand_ins.items():
            rest = filler * (len(token.encode()) - len(stand_in.encode()))
            strings = replace(strings, re.escape(token), stand_in + rest)
        return strings

    def _split(self, normalized: tf.Tensor) -> Tokens:
        ids, starts, ends = self._splitter.tokenize_with_offsets(normalized)
        tokens = Tokens(
            ids.flat_values, ids.row_splits, starts.flat_values, ends.flat_values
        )
        # The op limits the bytes of a word, at four times the characters.
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

    def _refuse_foreign_ids(self, ids: tf.Tensor) -> None:
        size = len(self._pieces)
        tf.debugging.assert_less(
            ids, size, f"`ids` must be less than the vocabulary size {size}."
        )
        tf.debugging.assert_non_negative(ids, "`ids` must not be negative.")


@functools.cache
def _character_map(normalization: Normalization, num_special: int) -> bytes:
    images = normalization.code_point_map()
    special = range(FIRST_SPECIAL_STAND_IN, FIRST_SPECIAL_STAND_IN + num_special)
    return compile_character_map(images | {c: f" {chr(c)} " for c in special})


def read_vocabulary(path: str | PathLike) -> list[str]:
    """Reads a `vocab.txt`: one piece a line, in the order of the ids.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not UTF-8.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a UTF-8 text file: {error}") from error
    return text.removesuffix("\n").split("\n")


def _check_pieces(vocabulary: Sequence[str]) -> list[str]:
    pieces = list(vocabulary)
    if not pieces:
        raise ValueError(f"`vocabulary` must not be empty. Received: {vocabulary!r}")
    for piece in pieces:
        if not isinstance(piece, str):
            raise TypeError(
                "`vocabulary` must be a list of strings. "
                f"Received an element of type {type(piece).__name__}: {piece!r}"
            )
    repeated = [piece for piece, n in collections.Counter(pieces).items() if n > 1]
    if repeated:
        raise ValueError(
            "`vocabulary` must not have duplicates. Received more than once: "
            f"{repeated[:5]} ({len(repeated)} in all)"
        )
    return pieces


def _valid(strings: tf.Tensor) -> tf.Tensor:
    """Skips bytes that are not UTF-8, as Google's `convert_to_unicode` does."""
    valid = tf.reduce_all(tf.strings.regex_full_match(strings, _VALID_UTF8))
    return tf.cond(
        valid,
        lambda: strings,
        lambda: tf.strings.unicode_transcode(
            strings, "UTF-8", "UTF-8", errors="ignore"
        ),
    )


def _flat(strings: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
    if isinstance(strings, tf.RaggedTensor):
        return tf.reshape(strings.flat_values, [-1])
    return tf.reshape(strings, [-1])


def _shaped_like(
    values: tf.Tensor,
    row_splits: tf.Tensor,
    strings: tf.Tensor | tf.RaggedTensor,
) -> tf.RaggedTensor | tf.Tensor:
    """Gives flat per-string rows the shape of the strings they came from."""
    if isinstance(strings, tf.RaggedTensor):
        rows = tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)
        return strings.with_flat_values(rows)
    if strings.shape.rank == 0:
        return values
    rows = tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)
    for axis in range(strings.shape.rank - 1, 0, -1):
        length = tf.shape(strings, out_type=tf.int64)[axis]
        count = tf.reduce_prod(tf.shape(strings, out_type=tf.int64)[:axis])
        rows = tf.RaggedTensor.from_uniform_row_length(rows, length, count)
    return rows


def _as_ragged_ids(ids: Any) -> tf.Tensor | tf.RaggedTensor:
    if isinstance(ids, (list, tuple)):
        ids = tf.ragged.constant(ids, dtype=tf.int32)
    ids = tf.cast(ids, tf.int32)
    if ids.shape.rank == 2 and isinstance(ids, tf.Tensor):
        return tf.RaggedTensor.from_tensor(ids)
    if ids.shape.rank not in (1, 2):
        raise ValueError(
            "`ids` must have the shape (sequence,) or (batch, sequence). "
            f"Received: shape {ids.shape}"
        )
    return ids
