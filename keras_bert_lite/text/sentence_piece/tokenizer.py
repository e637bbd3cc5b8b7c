"""The SentencePiece tokenizer."""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.added_tokens import refuse_flags
from keras_bert_lite.text.base_tokenizer import Tokenizer, TokenizerOptions
from keras_bert_lite.text.byte_offsets import Tokens
from keras_bert_lite.text.normalization.normalizer import Normalizer
from keras_bert_lite.text.normalization.steps import METASPACE, Steps
from keras_bert_lite.text.parallel import in_shards
from keras_bert_lite.text.sentence_piece import kernel_model
from keras_bert_lite.text.sentence_piece.kernel import Kernel
from keras_bert_lite.text.sentence_piece.paths import FastPath
from keras_bert_lite.text.sentence_piece.words import StandIns, Words
from keras_bert_lite.text.strings import valid_utf8


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SentencePieceTokenizer(Tokenizer):
    """Converts strings to SentencePiece unigram ids, like Hugging Face's tokenizers.

    Text is normalized by the steps of `normalization` and cut into words that
    begin with `▁` (U+2581). Each word is split into the pieces with the highest
    total score; a run of characters that no piece covers becomes one
    `unknown_token`. ALBERT, XLM-R and DeBERTa-v2 and v3 differ in their steps;
    `load_tokenizer` reads them from a checkpoint. Everything runs in TensorFlow and
    tensorflow-text ops that stock TF Serving has. The vocabulary is part of the
    layer's configuration, so `.keras` files and SavedModels contain it.

    Args:
        vocabulary: The pieces in the order of their ids, added tokens last.
        scores: The pieces' log probabilities. Pieces of `vocabulary` after
            the last score are added tokens; words are never split into them.
        normalization: Names of steps, applied in order:

            - `"quotes"`: two grave accents or apostrophes become `"`;
            - `"lowercase"`: character by character;
            - `"strip_accents"`: NFKD, then combining marks are dropped;
            - `"nfc"`: canonical composition;
            - `"charsmap"`: the replacements of `charsmap`;
            - `"collapse_spaces"`: a run of spaces becomes one space;
            - `"collapse_white_space"`: a run of white space becomes one space,
              as does a single line end or tab;
            - `"strip"`, `"strip_right"`: white space at the ends is dropped.
        charsmap: The `precompiled_charsmap` of a SentencePiece model, as bytes or
            in base64, for the step `"charsmap"`.
        split_white_space: Whether any white space separates words (ALBERT, XLM-R).
            Otherwise only U+0020 does, and each one begins a word (DeBERTa).
        split_punctuation: Whether each punctuation mark is a word of its own.
        **options: Options of every tokenizer, see `Tokenizer`: `added_tokens`,
            `additional_special_tokens`, `special_tokens_in_text`, `token_flags`
            (`lstrip` of the mask is honored with `split_white_space`), and the
            special tokens `unknown_token` (`"<unk>"`), `cls_token` (`"[CLS]"`),
            `sep_token` (`"[SEP]"`), `pad_token` (`"<pad>"`) and `mask_token`
            (`"[MASK]"`). A new word begins after each added token.

    Call arguments:
        text: Strings of any shape: Python strings, lists, numpy arrays, string
            tensors. Bytes that are not valid UTF-8 are skipped.

    Output shape:
        A `tf.RaggedTensor` of int32 ids with one more dimension than `text`. No
        special tokens are added (`Preprocessor` does that).

    Raises:
        ValueError: If the vocabulary is empty, has duplicates, lacks `▁` or a
            special token, or does not match the scores; if a step is unknown.
        TypeError: If `text` does not consist of strings.

    Example:

    >>> vocabulary = ["<pad>", "<unk>", "[CLS]", "[SEP]", "▁", "▁a", "fin", "e"]
    >>> scores = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -4.0, -3.0]
    >>> tokenizer = SentencePieceTokenizer(vocabulary, scores, ["lowercase"])
    >>> tokenizer(["A fine fin", "fig"])
    <tf.RaggedTensor [[5, 4, 6, 7, 4, 6], [4, 1]]>

    Reference: [Kudo, 2018](https://arxiv.org/abs/1804.10959);
    [Kudo and Richardson, 2018](https://arxiv.org/abs/1808.06226); `AlbertTokenizer`,
    `XLMRobertaTokenizer` and `DebertaV2Tokenizer` of Hugging Face transformers.
    """

    SPECIAL_TOKENS: ClassVar = {
        "unknown": "<unk>",
        "cls": "[CLS]",
        "sep": "[SEP]",
        "pad": "<pad>",
        "mask": "[MASK]",
    }
    LISTS = ("vocabulary", "scores")

    def __init__(
        self,
        vocabulary: Sequence[str],
        scores: Sequence[float],
        normalization: Sequence[str] = (),
        charsmap: bytes | str = b"",
        split_white_space: bool = True,
        split_punctuation: bool = False,
        **options: Unpack[TokenizerOptions],
    ) -> None:
        super().__init__(vocabulary, **options)
        # Not a list: Keras would wrap each score.
        self._scores = np.array(_check_scores(scores, self._pieces))
        self.normalization = list(normalization)
        self.charsmap = _from_base64(charsmap)
        self.split_white_space = split_white_space
        self.split_punctuation = split_punctuation
        with tf.init_scope():
            self._build_ops()

    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        spaced = [piece.replace(METASPACE, " ") for piece in self._pieces]
        first = [piece.replace(METASPACE, "") for piece in self._pieces]
        return tf.strings.join(
            [
                tf.strings.reduce_join(tf.gather(tf.constant(pieces), part), axis=-1)
                for pieces, part in ((first, ids[:, :1]), (spaced, ids[:, 1:]))
            ]
        )

    def piece_texts(self) -> list[tuple[str, bool]]:
        return [
            (piece.replace(METASPACE, ""), not piece.startswith(METASPACE))
            for piece in self._pieces
        ]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "scores": self._scores.tolist(),
            "normalization": list(self.normalization),
            "charsmap": base64.b64encode(self.charsmap).decode(),
            "split_white_space": self.split_white_space,
            "split_punctuation": self.split_punctuation,
        }

    def _indispensable(self) -> set[int]:
        # The score of an unknown character follows from the lowest one.
        return {*super()._indispensable(), int(self._scores.argmin())}

    def _config_of(self, ids: list[int]) -> dict[str, Any]:
        scores = self._scores[[i for i in ids if i < len(self._scores)]]
        return {**super()._config_of(ids), "scores": scores.tolist()}

    def _build_ops(self) -> None:
        steps = Steps(tuple(self.normalization), self.charsmap)
        recognized = dict.fromkeys(self.added_tokens)
        if self.special_tokens_in_text:
            recognized |= dict.fromkeys(self.special_tokens)
        # White space before a token is dropped only if words are split at it.
        mask = {self._roles["mask"]: {"lstrip"}} if self.split_white_space else {}
        refuse_flags(list(recognized), self.token_flags, mask)
        pieces = self._pieces[: len(self._scores)]
        stand_ins = StandIns(list(recognized), set().union(*pieces, *steps.keys))
        found = kernel_model.entries(
            pieces,
            self._scores.tolist(),
            self.unknown_id,
            {x: self._ids[token] for token, x in stand_ins.of_token.items()}
            | {stand_ins.alone: self._ids[METASPACE]},
            stand_ins.unknown,
        )
        known = kernel_model.known_characters(found, stand_ins.unknown)
        splits = (self.split_white_space, self.split_punctuation)
        self._words = Words(stand_ins, known, *splits)
        self._fast_path = FastPath(steps, stand_ins, known, *splits)
        self._normalizer = Normalizer(steps)
        self._kernel = Kernel(found, self.unknown_id)

    def ids_of(self, strings: tf.Tensor) -> tf.RaggedTensor:
        return in_shards(self._token_ids, self._written(valid_utf8(strings)))

    def _token_ids(self, source: tf.Tensor) -> tf.RaggedTensor:
        ids, row_splits = self._kernel(source)
        return tf.RaggedTensor.from_row_splits(ids, row_splits, validate=False)

    def _written(self, source: tf.Tensor) -> tf.Tensor:
        """Returns the kernel's input."""
        rare = self._fast_path.is_rare(source)
        fast = self._fast_path(source)
        return tf.cond(
            tf.reduce_any(rare), lambda: self._exact(source, rare, fast), lambda: fast
        )

    def _exact(self, source: tf.Tensor, rare: tf.Tensor, fast: tf.Tensor) -> tf.Tensor:
        """Replaces rare strings in `fast` by their exact normalization."""
        strings = tf.boolean_mask(source, rare)
        words = self._words.cut(self._normalizer(self._words.read(strings)))
        exact = self._words.write(words, tf.size(strings, tf.int64))
        return tf.tensor_scatter_nd_update(fast, tf.where(rare), exact)

    def _tokenize_with_offsets(
        self, source: tf.Tensor
    ) -> tuple[Tokens, tf.Tensor, tf.Tensor]:
        words = self._words.cut(self._normalizer(self._words.read(source)))
        strings = self._words.write(words, tf.size(source, tf.int64))
        tokens = self._kernel.tokens(strings)
        starts = tf.gather(words.starts, tokens.starts)
        ends = tf.gather(words.ends, tokens.ends - 1)
        return tokens, starts, ends


def _check_scores(scores: Sequence[float], pieces: list[str]) -> list[float]:
    scores = [float(score) for score in scores]
    if not 0 < len(scores) <= len(pieces):
        raise ValueError(
            "`scores` must be as many as the pieces of `vocabulary`, except the added "
            f"tokens at its end. Received: {len(scores)} scores, {len(pieces)} pieces"
        )
    odd = [score for score in scores if not math.isfinite(score)]
    if odd:
        raise ValueError(f"`scores` must be finite. Received: {odd[:5]}")
    if METASPACE not in pieces[: len(scores)]:
        raise ValueError(
            f"`vocabulary` must have the piece {METASPACE!r} (U+2581) with a score. "
            f"Received: {len(pieces)} pieces without it"
        )
    return scores


def _from_base64(charsmap: bytes | str) -> bytes:
    if isinstance(charsmap, bytes):
        return charsmap
    try:
        return base64.b64decode(charsmap, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError(
            f"`charsmap` must be bytes, or base64. Received: {charsmap!r:.40}"
        ) from error
