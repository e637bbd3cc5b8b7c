"""The byte-level BPE tokenizer."""

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Unpack

import keras
import tensorflow as tf

from keras_bert_lite.text.added_tokens import refuse_flags
from keras_bert_lite.text.base_tokenizer import Tokenizer, TokenizerOptions
from keras_bert_lite.text.byte_offsets import Tokens
from keras_bert_lite.text.byte_pair.byte_level import piece_bytes
from keras_bert_lite.text.byte_pair.model import BytePairModel
from keras_bert_lite.text.byte_pair.spans import Trimmer, byte_tokens, character_spans
from keras_bert_lite.text.byte_pair.special_tokens import SpecialTokens
from keras_bert_lite.text.byte_pair.vocabulary import read_merges, read_pieces


class _Pieces(NamedTuple):
    """The T tokens of B strings; concatenated, they are the strings."""

    ids: tf.Tensor  # (T,) int32
    row_splits: tf.Tensor  # (B + 1,) int64
    lengths: tf.Tensor  # (T,) int32, in bytes of the text
    eaten: tf.Tensor  # (T,) or () int32, leading spaces of special tokens


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class BytePairTokenizer(Tokenizer):
    """Converts strings to byte-level BPE ids, like RoBERTa's and GPT-2's tokenizers.

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
        **options: Options of every tokenizer, see `Tokenizer`: `added_tokens`,
            `additional_special_tokens`, `special_tokens_in_text`, `token_flags`
            (`lstrip` of the mask is honored; by default the mask has it, and in text
            includes the white space before it), and the special tokens
            `unknown_token` (`"<unk>"`), `cls_token` (`"<s>"`), `sep_token`
            (`"</s>"`), `pad_token` (`"<pad>"`) and `mask_token` (`"<mask>"`).

    Call arguments:
        text: Strings of any shape: Python strings, lists, numpy arrays, string
            tensors. Bytes that are not valid UTF-8 are skipped.

    Output shape:
        A `tf.RaggedTensor` of int32 ids with one more dimension than `text`. No
        special tokens are added (`Preprocessor` does that).

    Raises:
        ValueError: If the vocabulary is empty, has duplicates or lacks a
            special token or a byte; if the merges do not match it or are not in
            the order they were learned.
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
    WORD_MARK = "Ġ"

    def __init__(
        self,
        vocabulary: Sequence[str] | str | PathLike,
        merges: Sequence[str] | str | PathLike,
        add_prefix_space: bool = False,
        trim_offsets: bool = True,
        **options: Unpack[TokenizerOptions],
    ) -> None:
        if isinstance(vocabulary, (str, PathLike)):
            vocabulary = read_pieces(vocabulary)
        if isinstance(merges, (str, PathLike)):
            merges = read_merges(merges)
        super().__init__(vocabulary, **options)
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
        }

    def _build_ops(self, merges: Sequence[str]) -> None:
        self._model = BytePairModel(self._ids, merges)
        found = list(self.added_tokens)
        if self.special_tokens_in_text:
            found += self.special_tokens
        self._special = None
        if found:
            ids = {token: self._ids[token] for token in found}
            mask = self._roles["mask"]
            # The text is not normalized, so `normalized` has no effect.
            allowed = {token: {"normalized"} for token in found}
            allowed |= {mask: {"normalized", "lstrip"}}
            refuse_flags(found, self.token_flags, allowed)
            eats_spaces = mask if "lstrip" in self.flags_of(mask) else None
            self._special = SpecialTokens(ids, eats_spaces)
        self._trimmer = Trimmer(self._pieces, self.add_prefix_space)
        self._bytes = tf.constant([piece_bytes(piece) for piece in self._pieces])
        self._lengths = tf.strings.length(self._bytes)

    @property
    def _mask_takes_spaces(self) -> bool:
        return False  # the spans already include them

    def _token_ids(self, source: tf.Tensor) -> tf.RaggedTensor:
        pieces = self._split(source)
        return tf.RaggedTensor.from_row_splits(
            pieces.ids, pieces.row_splits, validate=False
        )

    def _tokenize_with_offsets(
        self, source: tf.Tensor
    ) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        pieces = self._split(source)
        tokens = byte_tokens(pieces.ids, pieces.row_splits, pieces.lengths, source)
        starts, ends = character_spans(tokens, source)
        if self.trim_offsets:
            starts, ends = self._trimmer.trim(tokens, pieces.eaten, starts, ends)
        return tokens, starts, ends

    def _split(self, source: tf.Tensor) -> _Pieces:
        if self._special is None:
            return _Pieces(*self._split_plain(source), tf.constant(0))
        segments = self._special.segment(source)
        plain = self._split_plain(segments.plain)
        return _Pieces(*segments.with_special_tokens(*plain))

    def _split_plain(self, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns ids, row splits and the lengths of tokens in bytes of the source."""
        if not self.add_prefix_space:
            ids, row_splits = self._model.split(source)
            return ids, row_splits, tf.gather(self._lengths, ids)
        prefixed = tf.strings.regex_replace(source, r"\A([^ ])", r" \1")
        ids, row_splits = self._model.split(prefixed)
        added = tf.strings.length(prefixed) - tf.strings.length(source)
        where = tf.where(added > 0)
        firsts = tf.gather(row_splits, where)
        lengths = tf.tensor_scatter_nd_sub(
            tf.gather(self._lengths, ids), firsts, tf.gather_nd(added, where)
        )
        return ids, row_splits, lengths
