"""The base class of tokenizer layers."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.added_tokens import check_flags, with_spaces_before
from keras_bert_lite.text.byte_offsets import Tokens
from keras_bert_lite.text.parallel import in_shards
from keras_bert_lite.text.strings import as_strings, flat, shaped_like, valid_utf8
from keras_bert_lite.text.text_layer import TextLayer


class _Vocabulary:
    """Pieces and their ids, hidden from Keras, which wraps the lists of a layer."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.ids = {piece: i for i, piece in enumerate(pieces)}


class TokenizerOptions(TypedDict, total=False):
    """Options of every tokenizer, see `Tokenizer`."""

    added_tokens: Sequence[str]
    additional_special_tokens: Sequence[str]
    special_tokens_in_text: bool
    token_flags: Mapping[str, Sequence[str]] | None
    unknown_token: str
    cls_token: str
    sep_token: str
    pad_token: str
    mask_token: str
    name: str
    trainable: bool
    dtype: Any


class Tokenizer(TextLayer):
    """Base class of tokenizers, which convert strings of any shape to ids.

    A subclass implements `_tokenize` (or `_token_ids`) and `_tokenize_with_offsets`
    on flat batches of valid UTF-8, and `_join`, which turns ids back into text.

    Args:
        vocabulary: The pieces in the order of their ids.
        added_tokens: Pieces of the vocabulary that are found in the text before
            anything else.
        additional_special_tokens: More special tokens, such as `["[E1]"]`.
        special_tokens_in_text: Whether special tokens are recognized in the text. By
            default they are plain text: brackets and a word.
        token_flags: Flags of Hugging Face's `AddedToken`, by token, such as
            `{"<mask>": ["lstrip"]}`. They are kept for files, and honored or refused
            where the token is found in text.
        unknown_token, cls_token, sep_token, pad_token, mask_token: The special
            tokens, by default `SPECIAL_TOKENS` of the class. All but `mask_token`
            must be in the vocabulary.
    """

    SPECIAL_TOKENS: ClassVar[dict[str, str]]  # by role
    OPTIONAL_ROLES: ClassVar[tuple[str, ...]] = ("mask",)
    MASK_FLAGS: ClassVar[tuple[str, ...]] = ()  # of the mask, if no flags are given
    WORD_MARK = "▁"  # what the first piece of a word begins with
    CONTINUATION_MARK = ""  # what the other pieces begin with
    LISTS: ClassVar[tuple[str, ...]] = ("vocabulary",)  # fields of a configuration
    SHOWS_UNKNOWN = False  # whether `detokenize` writes unknown tokens

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        added_tokens: Sequence[str] = (),
        additional_special_tokens: Sequence[str] = (),
        special_tokens_in_text: bool = False,
        token_flags: Mapping[str, Sequence[str]] | None = None,
        unknown_token: str | None = None,
        cls_token: str | None = None,
        sep_token: str | None = None,
        pad_token: str | None = None,
        mask_token: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._vocabulary = _Vocabulary(_check_pieces(vocabulary))
        given = {
            "unknown": unknown_token,
            "cls": cls_token,
            "sep": sep_token,
            "pad": pad_token,
            "mask": mask_token,
        }
        named = {role: token for role, token in given.items() if token is not None}
        self._roles = {**self.SPECIAL_TOKENS, **named}
        for role, token in self._roles.items():
            if token not in self._ids and role not in self.OPTIONAL_ROLES:
                raise ValueError(
                    f"`vocabulary` must contain the {role} token {token!r}. "
                    f"Received {len(self._pieces)} pieces without it."
                )
        self.added_tokens = check_in_vocabulary("added_tokens", added_tokens, self._ids)
        more = check_in_vocabulary(
            "additional_special_tokens", additional_special_tokens, self._ids
        )
        self.additional_special_tokens = [
            x for x in more if x not in self._roles.values()
        ]
        self.special_tokens_in_text = special_tokens_in_text
        mask = self._roles["mask"]
        if token_flags is None and mask in self._ids and self.MASK_FLAGS:
            token_flags = {mask: self.MASK_FLAGS}
        self.token_flags = check_flags(token_flags, self._ids)

    @property
    def _pieces(self) -> list[str]:
        return self._vocabulary.pieces

    @property
    def _ids(self) -> dict[str, int]:
        return self._vocabulary.ids

    def get_vocabulary(self) -> list[str]:
        """Returns the pieces in the order of their ids."""
        return list(self._pieces)

    def with_tokens(self, tokens: Sequence[str]) -> Tokenizer:
        """Returns a tokenizer with `tokens` added, which it finds in any text.

        Args:
            tokens: Strings to append to the vocabulary; those already in it are
                skipped.

        Raises:
            ValueError: If a token is empty, or begins or ends with white space.
        """
        if isinstance(tokens, str):
            raise TypeError(f"`tokens` must be a list of strings. Received: {tokens!r}")
        for token in tokens:
            if not isinstance(token, str) or not token or token != token.strip():
                raise ValueError(
                    "`tokens` must be strings without white space at the ends. "
                    f"Received: {token!r}"
                )
        new = [x for x in dict.fromkeys(tokens) if x not in self._ids]
        pieces, added = [*self._pieces, *new], [*self.added_tokens, *new]
        return self._with_config({"vocabulary": pieces, "added_tokens": added})

    def with_only(self, tokens: Sequence[str]) -> tuple[Tokenizer, list[int]]:
        """Returns a smaller tokenizer, which splits text of its pieces as this one.

        Special and added tokens, pieces of one character, and what the algorithm
        needs to form a piece are kept too.

        Args:
            tokens: Pieces to keep.

        Returns:
            The tokenizer, and the ids that its pieces have here, in its order.

        Raises:
            ValueError: If one of `tokens` is not in the vocabulary.
        """
        named = check_in_vocabulary("tokens", tokens, self._ids)
        kept = {*(self._ids[token] for token in named), *self._indispensable()}
        ids = sorted(self._with_parts(kept))
        return self._with_config(self._config_of(ids)), ids

    def _indispensable(self) -> set[int]:
        """Returns the ids of pieces that every smaller tokenizer keeps."""
        named = [*self.special_tokens, *self.added_tokens]
        short = (
            i
            for i, (text, _) in enumerate(self.piece_texts())
            if len(text.removeprefix(self.CONTINUATION_MARK)) <= 1
        )
        return {*(self._ids[token] for token in named), *short}

    def _with_parts(self, ids: set[int]) -> set[int]:
        """Adds the pieces of which others are formed."""
        return ids

    def _config_of(self, ids: list[int]) -> dict[str, Any]:
        """Returns the fields of a configuration that differ with these pieces only."""
        return {"vocabulary": [self._pieces[i] for i in ids]}

    def _with_config(self, changes: dict[str, Any]) -> Tokenizer:
        """Returns a new tokenizer with other fields in its configuration."""
        inherited = ("name", "trainable", "dtype")
        config = {k: v for k, v in self.get_config().items() if k not in inherited}
        return type(self)(**{**config, **changes})

    def vocabulary_size(self) -> int:
        """Returns the number of pieces."""
        return len(self._pieces)

    def id_to_token(self, id: int) -> str:
        """Returns the piece with an id."""
        if not 0 <= id < len(self._pieces):
            raise ValueError(
                f"`id` must be in [0, {len(self._pieces)}). Received: {id}"
            )
        return self._pieces[id]

    def token_to_id(self, token: str) -> int:
        """Returns the id of a piece."""
        if token not in self._ids:
            raise ValueError(f"`token` must be in the vocabulary. Received: {token!r}")
        return self._ids[token]

    @property
    def roles(self) -> dict[str, str]:
        """The special tokens by role: `unknown`, `cls`, `sep`, `pad`, `mask`."""
        return dict(self._roles)

    @property
    def special_tokens(self) -> list[str]:
        """The special tokens in the vocabulary."""
        named = dict.fromkeys([*self._roles.values(), *self.additional_special_tokens])
        return [token for token in named if token in self._ids]

    @property
    def unknown_id(self) -> int:
        """The id of the unknown token; -1 for byte-level BPE without one."""
        return self._ids.get(self._roles["unknown"], -1)

    @property
    def cls_id(self) -> int:
        return self._ids[self._roles["cls"]]

    @property
    def sep_id(self) -> int:
        return self._ids[self._roles["sep"]]

    @property
    def pad_id(self) -> int:
        return self._ids[self._roles["pad"]]

    def call(self, text: Any) -> tf.RaggedTensor:
        strings = as_strings(text, "text")
        ids = self.ids_of(flat(strings))
        return shaped_like(ids.values, ids.row_splits, strings)

    def ids_of(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of a string tensor `(B,)` as ragged `(B, None)`."""
        return in_shards(self._token_ids, valid_utf8(strings))

    def compute_output_spec(self, text: Any) -> keras.KerasTensor:
        raise NotImplementedError(
            "A tokenizer's ragged output cannot be the input of a Keras layer. "
            "Use `Preprocessor(tokenizer)` in a functional model."
        )

    def tokenize_with_offsets(
        self, text: Any
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Returns ids and the position of each token in its string.

        Returns:
            `(ids, starts, ends)`, ragged int32 tensors of one shape. Offsets
            count code points of the original string (bytes that are not valid
            UTF-8 do not count) and `ends` is exclusive, as in Hugging Face's
            `offset_mapping`.
        """
        strings = as_strings(text, "text")
        tokens, starts, ends = self.spans_of(valid_utf8(flat(strings)))
        return tuple(
            shaped_like(values, tokens.row_splits, strings)
            for values in (tokens.ids, starts, ends)
        )

    def spans_of(self, source: tf.Tensor) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        """Returns the T tokens of valid UTF-8 `(B,)` and their spans.

        Returns:
            The tokens, their starts and their ends (exclusive). Both are `(T,)`
            int32 and count code points.
        """
        tokens, starts, ends = self._tokenize_with_offsets(source)
        if self._mask_takes_spaces:
            mask = tf.equal(tokens.ids, self._ids[self._roles["mask"]])
            wide = with_spaces_before(source, tokens.rows, starts)
            starts = tf.where(mask, wide, starts)
        return tokens, starts, ends

    def detokenize(self, ids: Any, skip_special_tokens: bool = True) -> tf.Tensor:
        """Joins pieces to text.

        Args:
            ids: Integers of shape `(sequence,)` or `(batch, sequence)`, dense
                or ragged.
            skip_special_tokens: Whether to leave out special tokens; WordPiece
                keeps `unknown_token`, which stands for a word.

        Returns:
            String tensor of shape `()` or `(batch,)`. Bytes of byte-level BPE that
            do not make up a character become U+FFFD.

        Raises:
            ValueError: If an id is not of the vocabulary, or `ids` has another rank.
        """
        ragged = self._ragged_ids(ids)
        if ragged.shape.rank == 1:
            return self.detokenize(ragged[None], skip_special_tokens)[0]
        if skip_special_tokens:
            special = {self._ids[token] for token in self.special_tokens}
            if self.SHOWS_UNKNOWN:
                special -= {self.unknown_id}
            kept = tf.reduce_all(ragged.flat_values[:, None] != sorted(special), -1)
            ragged = tf.ragged.boolean_mask(ragged, ragged.with_flat_values(kept))
        return self._join(ragged)

    def piece_texts(self) -> list[tuple[str, bool]]:
        """Returns the readable text of each piece, and whether it is attached to
        the piece before it."""
        return [(piece, False) for piece in self._pieces]

    def continues_word(self, ids: tf.Tensor) -> tf.Tensor | None:
        """Returns which pieces continue a word, or `None` if pieces do not mark it."""
        return None

    def continuations(self) -> np.ndarray:
        """Returns which pieces continue the word of the piece before, (V,) bool."""
        mark = self.WORD_MARK
        return np.array([not piece.startswith(mark) for piece in self._pieces])

    def get_config(self) -> dict[str, Any]:
        roles = {f"{role}_token": token for role, token in self._roles.items()}
        return {
            **super().get_config(),
            "vocabulary": self.get_vocabulary(),
            **roles,
            "added_tokens": list(self.added_tokens),
            "additional_special_tokens": list(self.additional_special_tokens),
            "special_tokens_in_text": self.special_tokens_in_text,
            "token_flags": {k: list(x) for k, x in self.token_flags.items()},
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Tokenizer:
        """Makes the tokenizer of a configuration, which has values only.

        Constructors also take the paths of files. A configuration must not: it comes
        with a model's file, whose author could then read the files of its users.

        Raises:
            ValueError: If a field of `LISTS` is not a list.
        """
        for name in cls.LISTS:
            value = config.get(name)
            if not isinstance(value, (list, tuple)):
                raise ValueError(
                    f"`{name}` of a configuration must be a list; only the "
                    f"constructor takes a path. Received: {value!r:.100}"
                )
        return cls(**config)

    def flags_of(self, token: str) -> list[str]:
        """Returns the flags of a token in Hugging Face's files."""
        return list(self.token_flags.get(token, ()))

    @property
    def _mask_takes_spaces(self) -> bool:
        """Whether the mask's offsets begin with the white space before it."""
        mask = self._roles["mask"]
        found = self.special_tokens_in_text and mask in self._ids
        return found and "lstrip" in self.flags_of(mask)

    def _token_ids(self, source: tf.Tensor) -> tf.RaggedTensor:
        tokens = self._tokenize(source)
        return tf.RaggedTensor.from_row_splits(
            tokens.ids, tokens.row_splits, validate=False
        )

    def _tokenize(self, source: tf.Tensor) -> Tokens:
        raise NotImplementedError

    def _tokenize_with_offsets(
        self, source: tf.Tensor
    ) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        raise NotImplementedError

    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Returns the texts `(B,)` of ids `(B, None)`."""
        raise NotImplementedError

    def _ragged_ids(self, ids: Any) -> tf.Tensor | tf.RaggedTensor:
        """Returns ids of rank 1 or 2; refuses ids outside the vocabulary."""
        ragged = _as_ragged_ids(ids)
        values = ragged if ragged.shape.rank == 1 else ragged.flat_values
        size = len(self._pieces)
        message = f"`ids` must be in [0, {size}), the size of the vocabulary."
        try:
            tf.debugging.assert_less(values, size, message)
            tf.debugging.assert_non_negative(values, message)
        except tf.errors.InvalidArgumentError as error:  # when run eagerly
            raise ValueError(error.message) from error
        return ragged


def check_in_vocabulary(
    argument: str, tokens: Sequence[str], ids: dict[str, int]
) -> list[str]:
    """Returns tokens as a list; refuses any outside the vocabulary."""
    if isinstance(tokens, str):
        raise TypeError(f"`{argument}` must be a list of strings. Received: {tokens!r}")
    missing = [token for token in tokens if not token or token not in ids]
    if missing:
        raise ValueError(
            f"`{argument}` must be pieces of `vocabulary`. Received: {missing[:5]}, "
            "which are not"
        )
    return list(tokens)


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
