"""Encoders, models, tokenizers and preprocessors, from any source."""

import os
from typing import Any

import keras

from keras_bert_lite.checkpoints.formats import format_of
from keras_bert_lite.checkpoints.sources import resolve
from keras_bert_lite.layers.base import skip_initialization
from keras_bert_lite.text.base_tokenizer import Tokenizer
from keras_bert_lite.text.preprocessor import Preprocessor


def load_encoder(
    source: str | os.PathLike, pooling: str | None = "checkpoint", **changes: Any
) -> keras.Model:
    """Loads the encoder of a checkpoint, of any family.

    Args:
        source: A directory: in Hugging Face layout (config.json and
            model.safetensors, in one file or in shards), of
            sentence-transformers, with a TF1 checkpoint of Google's, or a
            SavedModel of an encoder, as TF Hub has them; or `hf://owner/name`;
            or `keras-hub://preset`; or `bert_mini_books`, which comes with
            this package.
        pooling: How `pooled_output` is made; see `EncoderConfig`. By default
            as in the checkpoint: `"cls_dense"` if it has BERT's pooler,
            else no pooled output.
        **changes: `dropout` or `attention_dropout`, to replace the rates in
            the checkpoint.

    Returns:
        A model as `encoder` makes it.

    Warns:
        UserWarning: If a pooler starts from random weights, weights of the
            checkpoint stay unused, or some have NaN or infinite numbers.

    Raises:
        ValueError: If the checkpoint is of no known family, or its tensors are
            not exactly those that its configuration asks for.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> sorted(encoder.output)
    ['sequence_output']
    """
    place = resolve(source)
    with skip_initialization():
        return format_of(place).load_encoder(place, pooling, changes)


def load_model(source: str | os.PathLike, **changes: Any) -> keras.Model:
    """Loads a checkpoint with its own head.

    Args:
        source: As in `load_encoder`.
        **changes: As in `load_encoder`.

    Returns:
        What the builder of the task returns: for
        `BertForSequenceClassification` a `text_classifier` with the
        checkpoint's label names, and so on; for a directory of
        sentence-transformers a `sentence_encoder`; an encoder if there is no
        head.

    Warns:
        UserWarning: If weights of the checkpoint stay unused, or some have NaN
            or infinite numbers.

    Raises:
        ValueError: As `load_encoder`; or if the head is of an unknown kind.

    Example:

    >>> model = kbl.load_model("bert_mini_books")
    >>> sorted(model.output)
    ['sentence_embedding']
    """
    place = resolve(source)
    with skip_initialization():
        return format_of(place).load_model(place, changes)


def load_tokenizer(source: str | os.PathLike, **changes: Any) -> Tokenizer:
    """Loads the tokenizer of a checkpoint.

    Args:
        source: A directory with tokenizer.json (preferred), vocab.txt,
            vocab.json and merges.txt, or a SentencePiece .model; or
            `hf://owner/name`; or `keras-hub://preset`.
        **changes: Arguments of the tokenizer to replace, such as
            `special_tokens_in_text=True`.

    Returns:
        A `WordPieceTokenizer`, `BytePairTokenizer` or `SentencePieceTokenizer`.

    Raises:
        ValueError: If the files describe another kind of tokenizer.

    Example:

    >>> tokenizer = kbl.load_tokenizer("bert_mini_books")
    >>> tokenizer(["a day"]).shape
    TensorShape([1, None])
    """
    place = resolve(source)
    return format_of(place).load_tokenizer(place, changes)


def load_preprocessor(source: str | os.PathLike, **changes: Any) -> Preprocessor:
    """Loads the tokenizer of a checkpoint and the length it was made for.

    The length is sentence-transformers' `max_seq_length` where there is one,
    else the tokenizer's `model_max_length`, capped by the position table. The
    truncation and padding that tokenizer.json may hold are ignored.

    Args:
        source: As in `load_tokenizer`.
        **changes: Arguments of `Preprocessor` to replace, such as
            `sequence_length` or `padding`.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books", sequence_length=16)
    >>> sorted(preprocessor(["a day"]))
    ['padding_mask', 'segment_ids', 'token_ids']
    """
    place = resolve(source)
    return format_of(place).load_preprocessor(place, changes)
