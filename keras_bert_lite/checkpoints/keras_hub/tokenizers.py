"""Converting KerasHub tokenizers."""

import os
import tempfile
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.keras_hub.preset_loading import load_tokenizer_preset
from keras_bert_lite.checkpoints.tokenizers import (
    sentence_piece as sentence_piece_files,
)
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.byte_pair.tokenizer import BytePairTokenizer
from keras_bert_lite.text.sentence_piece.tokenizer import SentencePieceTokenizer
from keras_bert_lite.text.wordpiece.tokenizer import WordPieceTokenizer

WORD_PIECE = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
BYTE_PAIR = ("RobertaTokenizer",)
SENTENCE_PIECE = {
    "AlbertTokenizer": "spiece.model",
    "XLMRobertaTokenizer": "sentencepiece.bpe.model",
    "DebertaV3Tokenizer": "spm.model",
}


def tokenizer_from_keras_hub(tokenizer: Any) -> Tokenizer:
    """Converts a KerasHub tokenizer.

    For ordinary text the ids equal KerasHub's. They differ where KerasHub departs
    from the code that the models were trained with, which this package follows:

    - WordPiece: KerasHub lower-cases by NFKC case folding (`ß` becomes `ss`,
      accents and letters are composed), keeps control characters, splits at
      fewer kinds of white space and punctuation, and treats words of over 100
      bytes, not characters, as unknown.
    - Byte-level BPE: KerasHub keeps the white space before `<mask>`, and takes an
      apostrophe after a contraction (`'s`) for another contraction.
    - SentencePiece: KerasHub applies only the model file's normalization, without
      ALBERT's lower-casing and removal of accents, for example.

    Args:
        tokenizer: A `BertTokenizer`, `DistilBertTokenizer`, `ElectraTokenizer`,
            `RobertaTokenizer`, `AlbertTokenizer`, `XLMRobertaTokenizer` or
            `DebertaV3Tokenizer`; or the name or directory of a preset.

    Returns:
        A `WordPieceTokenizer`, `BytePairTokenizer` or `SentencePieceTokenizer`.

    Raises:
        ValueError: If the class of the tokenizer or one of its options is not
            supported, or the preset cannot be loaded.
    """
    import keras_hub  # imported here because it is slow and rarely needed

    if isinstance(tokenizer, (str, os.PathLike)):
        tokenizer = load_tokenizer_preset(tokenizer)
    kinds = (
        (WORD_PIECE, "vocabulary", _word_piece),
        (BYTE_PAIR, "vocabulary", _byte_pair),
        (SENTENCE_PIECE, "proto", _sentence_piece),
    )
    for names, content, convert in kinds:
        if type(tokenizer) in [getattr(keras_hub.tokenizers, x) for x in names]:
            if getattr(tokenizer, content, None) is None:
                raise ValueError(
                    f"`tokenizer` must have a {content}. "
                    f"Received: {type(tokenizer).__name__} without one"
                )
            _refuse(tokenizer, sequence_length=None)
            return convert(tokenizer)
    raise ValueError(
        "`tokenizer` must be one of KerasHub's "
        f"{[*WORD_PIECE, *BYTE_PAIR, *SENTENCE_PIECE]}. Received: {tokenizer!r}"
    )


def _word_piece(tokenizer: Any) -> WordPieceTokenizer:
    _refuse(tokenizer, split=True, suffix_indicator="##")
    return WordPieceTokenizer(
        tokenizer.get_vocabulary(),
        lowercase=tokenizer.lowercase,
        strip_accents=tokenizer.strip_accents,
        split_cjk=tokenizer.split_on_cjk,
        special_tokens_in_text=tokenizer.special_tokens_in_strings,
        unknown_token=tokenizer.oov_token,
        cls_token=tokenizer.cls_token,
        sep_token=tokenizer.sep_token,
        pad_token=tokenizer.pad_token,
        mask_token=tokenizer.mask_token,
    )


def _byte_pair(tokenizer: Any) -> BytePairTokenizer:
    own = tokenizer.unsplittable_tokens
    if own and sorted(own) != sorted(tokenizer.special_tokens):
        raise ValueError(
            "`unsplittable_tokens` of the tokenizer must be its special tokens, "
            f"{tokenizer.special_tokens}, or none. Received: {own}"
        )
    pieces = {i: piece for piece, i in tokenizer.vocabulary.items()}
    if sorted(pieces) != list(range(len(tokenizer.vocabulary))):
        raise ValueError(
            "The ids of `tokenizer.vocabulary` must be 0 to "
            f"{len(tokenizer.vocabulary) - 1}. Received: {sorted(pieces)[:5]}, ..., "
            f"{max(pieces)}"
        )
    return BytePairTokenizer(
        [pieces[i] for i in range(len(pieces))],
        list(tokenizer.merges),
        add_prefix_space=tokenizer.add_prefix_space,
        special_tokens_in_text=bool(own),
        cls_token=tokenizer.start_token,
        sep_token=tokenizer.end_token,
        pad_token=tokenizer.pad_token,
        mask_token=tokenizer.mask_token,
    )


def _sentence_piece(tokenizer: Any) -> SentencePieceTokenizer:
    _refuse(tokenizer, add_bos=False, add_eos=False)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, SENTENCE_PIECE[type(tokenizer).__name__])
        path.write_bytes(tokenizer.proto)
        arguments = sentence_piece_files.arguments_from(path.parent)
    assert arguments is not None  # the model was just written
    return SentencePieceTokenizer(**arguments)


def _refuse(tokenizer: Any, **wanted: Any) -> None:
    for name, value in wanted.items():
        if getattr(tokenizer, name) != value:
            raise ValueError(
                f"`{name}` of the tokenizer must be {value!r}. "
                f"Received: {getattr(tokenizer, name)!r}"
            )
