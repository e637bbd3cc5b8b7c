"""The byte-level BPE tokenizer."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Unpack

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.text.base_tokenizer import Tokenizer, TokenizerOptions
from keras_bert_lite.text.byte_offsets import Tokens
from keras_bert_lite.text.byte_pair.byte_level import piece_bytes
from keras_bert_lite.text.byte_pair.model import BytePairModel
from keras_bert_lite.text.byte_pair.patterns import GPT2, PATTERNS
from keras_bert_lite.text.byte_pair.spans import (
    Origins,
    Trimmer,
    byte_tokens,
    character_spans,
)
from keras_bert_lite.text.byte_pair.token_finder import Pieces, TokenFinder
from keras_bert_lite.text.byte_pair.vocabulary import read_merges, read_pieces
from keras_bert_lite.text.normalization.characters import write_characters
from keras_bert_lite.text.normalization.nfc import NFC
from keras_bert_lite.text.parallel import in_shards
from keras_bert_lite.text.strings import valid_utf8

NORMALIZATIONS = ((), ("nfc",))


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class BytePairTokenizer(Tokenizer):
    """Converts strings to byte-level BPE ids, like the tokenizers of RoBERTa,
    ModernBERT and EuroBERT.

    Text is split into words (runs of letters, of digits, of other characters,
    each with the space before it; English contractions; white space). Each word
    is split into bytes, and adjacent pieces are merged in the order in which the
    merges were learned. No text is unknown. Everything runs in TensorFlow and
    tensorflow-text ops that stock TF Serving has. The vocabulary is part of the
    layer's configuration, so `.keras` files and SavedModels contain it.

    Args:
        vocabulary: The pieces in the order of their ids, with bytes written as
            printable characters (`Ġthe` for ` the`): a list of strings, or the
            path of a `vocab.json`. Every byte of UTF-8 must be a piece.
        merges: The merges in the order they were learned: a list of strings,
            each two pieces with a space between, or the path of a `merges.txt`.
        add_prefix_space: Whether to add a space to text that does not begin with
            one, so that its first word is split like any other.
        trim_offsets: Whether offsets exclude the white space at the ends of a
            token.
        normalization: `["nfc"]` for canonical composition before anything else but
            tokens without the flag `normalized` (ModernBERT); `[]` for none.
        split_pattern: The regular expression that words match, as tokenizer.json has
            it: GPT-2's (by default; RoBERTa and ModernBERT) or Llama 3's (EuroBERT).
        ignore_merges: Whether a word that is a piece stays whole even if no merges
            form it (EuroBERT).
        **options: Options of every tokenizer, see `Tokenizer`: `added_tokens`,
            `additional_special_tokens`, `special_tokens_in_text`, `token_flags`
            (all are honored: a token with `lstrip` includes the white space before it,
            as the mask does by default), and the special tokens `unknown_token`
            (`"<unk>"`, which the vocabulary may lack), `cls_token` (`"<s>"`),
            `sep_token` (`"</s>"`), `pad_token` (`"<pad>"`) and `mask_token`
            (`"<mask>"`).

    Call arguments:
        text: Strings of any shape: Python strings, lists, numpy arrays, string
            tensors. Bytes that are not valid UTF-8 are skipped.

    Output shape:
        A `tf.RaggedTensor` of int32 ids with one more dimension than `text`. No
        special tokens are added (`Preprocessor` does that).

    Raises:
        ValueError: If the vocabulary is empty, has duplicates or lacks a
            special token or a byte; if the merges do not match it; if
            `normalization` or `split_pattern` is another.
        TypeError: If `text` does not consist of strings.

    Example:

    >>> from tokenizers.pre_tokenizers import ByteLevel
    >>> special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    >>> vocabulary = [*special, *sorted(ByteLevel.alphabet()), "fi", "fin"]
    >>> tokenizer = kbl.BytePairTokenizer(vocabulary, merges=["f i", "fi n"])
    >>> [tokenizer.id_to_token(id) for id in tokenizer("a fin")]
    ['a', 'Ġ', 'fin']

    Reference: [Sennrich et al., 2016](https://arxiv.org/abs/1508.07909);
    `encoder.py` in openai/gpt-2; `ByteLevel` and `BPE` in Hugging Face tokenizers.
    """

    SPECIAL_TOKENS: ClassVar = {
        "unknown": "<unk>",
        "cls": "<s>",
        "sep": "</s>",
        "pad": "<pad>",
        "mask": "<mask>",
    }
    MASK_FLAGS = ("lstrip",)
    OPTIONAL_ROLES = ("unknown", "mask")
    WORD_MARK = "Ġ"
    LISTS = ("vocabulary", "merges")

    def __init__(
        self,
        vocabulary: Sequence[str] | str | PathLike,
        merges: Sequence[str] | str | PathLike,
        add_prefix_space: bool = False,
        trim_offsets: bool = True,
        normalization: Sequence[str] = (),
        split_pattern: str = GPT2,
        ignore_merges: bool = False,
        **options: Unpack[TokenizerOptions],
    ) -> None:
        if isinstance(vocabulary, (str, PathLike)):
            vocabulary = read_pieces(vocabulary)
        if isinstance(merges, (str, PathLike)):
            merges = read_merges(merges)
        if tuple(normalization) not in NORMALIZATIONS:
            raise ValueError(
                f"`normalization` must be one of {NORMALIZATIONS}. "
                f"Received: {normalization!r}"
            )
        check_choice("split_pattern", split_pattern, tuple(PATTERNS))
        if add_prefix_space and split_pattern != GPT2:
            raise ValueError(
                "`add_prefix_space` must be false with another `split_pattern` than "
                f"GPT-2's. Received: {split_pattern!r}"
            )
        super().__init__(vocabulary, **options)
        self.normalization = list(normalization)
        self.split_pattern = split_pattern
        self.ignore_merges = ignore_merges
        self.add_prefix_space = add_prefix_space
        self.trim_offsets = trim_offsets
        with tf.init_scope():
            self._build_ops(merges)

    def get_merges(self) -> list[str]:
        """Returns the merges in the order they were learned, each `"a b"`."""
        return list(self._model.merges)

    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        text = tf.strings.reduce_join(tf.gather(self._bytes, ids), axis=-1)
        return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")

    def piece_texts(self) -> list[tuple[str, bool]]:
        texts = [piece_bytes(x).decode("utf-8", "replace") for x in self._pieces]
        return [(text.strip(), not text.startswith(" ")) for text in texts]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "merges": self.get_merges(),
            "add_prefix_space": self.add_prefix_space,
            "trim_offsets": self.trim_offsets,
            "normalization": list(self.normalization),
            "split_pattern": self.split_pattern,
            "ignore_merges": self.ignore_merges,
        }

    def _with_parts(self, ids: set[int]) -> set[int]:
        pieces = self._model.learned.with_parts(self._pieces[i] for i in ids)
        return {self._ids[piece] for piece in pieces}

    def _config_of(self, ids: list[int]) -> dict[str, Any]:
        config = super()._config_of(ids)
        kept = {*config["vocabulary"]}
        halves = ((merge, merge.split(" ")) for merge in self.get_merges())
        merges = [x for x, (a, b) in halves if {a, b, a + b} <= kept]
        return {**config, "merges": merges}

    def _build_ops(self, merges: Sequence[str]) -> None:
        found = list(self.added_tokens)
        if self.special_tokens_in_text:
            found += self.special_tokens
        normalized = [x for x in found if "normalized" in self.flags_of(x)]
        verbatim = [x for x in found if x not in normalized]
        self._nfc = NFC() if self.normalization else None
        # As in the reference: some tokens are found in the text as it is, the others
        # between them, once it is normalized.
        self._verbatim = self._finder_of(verbatim)
        self._normalized = self._finder_of(normalized, bool(self._nfc))
        whole = set()
        if self.ignore_merges:
            whole = self._ids.keys() - {*self.added_tokens, *self.special_tokens}
        self._model = BytePairModel(self._ids, merges, self.split_pattern, whole)
        self._trimmer = Trimmer(self._pieces, self.add_prefix_space)
        self._bytes = tf.constant([piece_bytes(piece) for piece in self._pieces])
        self._lengths = tf.strings.length(self._bytes)

    def _finder_of(
        self, tokens: Sequence[str], composed: bool = False
    ) -> TokenFinder | None:
        """Returns a finder of tokens, which may be composed like the text."""
        if not tokens:
            return None
        names = {
            token: unicodedata.normalize("NFC", token) if composed else token
            for token in tokens
        }
        return TokenFinder(
            {names[token]: self._ids[token] for token in tokens},
            {names[token]: self.flags_of(token) for token in tokens},
        )

    @property
    def _mask_takes_spaces(self) -> bool:
        return False  # the spans already include them

    def ids_of(self, strings: tf.Tensor) -> tf.RaggedTensor:
        source = valid_utf8(strings)
        segments = self._verbatim and self._verbatim.segment(source)
        text = segments.plain if segments else source
        rows = in_shards(self._token_ids, self._nfc(text) if self._nfc else text)
        return segments.ids_with_found(rows) if segments else rows

    def _token_ids(self, source: tf.Tensor) -> tf.RaggedTensor:
        pieces = self._split(source)
        return tf.RaggedTensor.from_row_splits(
            pieces.ids, pieces.row_splits, validate=False
        )

    def _tokenize_with_offsets(
        self, source: tf.Tensor
    ) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        segments = self._verbatim and self._verbatim.segment(source)
        text = segments.plain if segments else source
        origins = None
        if self._nfc:
            characters, count = self._nfc.characters(text), tf.size(text, tf.int64)
            text = write_characters(characters, count)
            origins = Origins.of(characters, count)
        pieces = self._split(text)
        if segments:
            pieces = segments.with_found(pieces)
            text = segments.joined_with(text)
            origins = origins and segments.origins_with(origins)
        tokens = byte_tokens(pieces.ids, pieces.row_splits, pieces.lengths, text)
        starts, ends = character_spans(tokens, text)
        if origins:
            starts, ends = origins.original(tokens, starts, ends)
        if self.trim_offsets:
            starts, ends = self._trimmer.trim(tokens, pieces.taken, starts, ends)
        return tokens, starts, ends

    def _split(self, text: tf.Tensor) -> Pieces:
        """Splits normalized text."""
        if self._normalized is None:
            return self._split_plain(text)
        segments = self._normalized.segment(text)
        return segments.with_found(self._split_plain(segments.plain))

    def _split_plain(self, source: tf.Tensor) -> Pieces:
        """Splits text without tokens to find."""
        if not self.add_prefix_space:
            ids, row_splits = self._model.split(source)
            lengths = tf.gather(self._lengths, ids)
        else:
            prefixed = tf.strings.regex_replace(source, r"\A([^ ])", r" \1")
            ids, row_splits = self._model.split(prefixed)
            added = tf.strings.length(prefixed) - tf.strings.length(source)
            where = tf.where(added > 0)
            firsts = tf.gather(row_splits, where)
            lengths = tf.tensor_scatter_nd_sub(
                tf.gather(self._lengths, ids), firsts, tf.gather_nd(added, where)
            )
        return Pieces(ids, row_splits, lengths, tf.zeros([tf.size(ids), 2], tf.int32))
