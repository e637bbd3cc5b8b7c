"""Loading encoders, models, tokenizers and preprocessors from any source."""

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
    """Loads the encoder of a checkpoint of any family.

    Args:
        source: One of the following:

            - a directory in Hugging Face layout: config.json and
              model.safetensors, in one file or in shards;
            - a sentence-transformers directory;
            - a directory with one of Google's TF1 checkpoints;
            - a SavedModel of an encoder, as published on TF Hub;
            - a KerasHub preset's directory, written by `save_to_preset`;
            - `hf://owner/name` or `keras-hub://preset`;
            - `bert_mini_books`, which comes with this package.
        pooling: How `pooled_output` is computed; see `EncoderConfig`. The default
            follows the checkpoint: `"cls_dense"` if it has BERT's pooler,
            otherwise no pooled output.
        **changes: `dropout` or `attention_dropout`, to replace the rates in
            the checkpoint.

    Returns:
        A model as returned by `encoder`.

    Warns:
        UserWarning: If a pooler starts from random weights, weights of the
            checkpoint stay unused, or some have NaN or infinite values.

    Raises:
        ValueError: If the family of the checkpoint is unknown, or its tensors do
            not exactly match its configuration.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> sorted(encoder.output)
    ['sequence_output']
    """
    resolved = resolve(source)
    with skip_initialization():
        return format_of(resolved).load_encoder(resolved, pooling, changes)


def load_model(source: str | os.PathLike, **changes: Any) -> keras.Model:
    """Loads a checkpoint with its head.

    Args:
        source: As in `load_encoder`.
        **changes: As in `load_encoder`.

    Returns:
        The model of the task's builder. `BertForSequenceClassification` becomes a
        `text_classifier` with the checkpoint's label names, for example, and a
        sentence-transformers directory becomes a `sentence_encoder`. Without a
        head, an encoder.

    Warns:
        UserWarning: If weights of the checkpoint stay unused, or some have NaN
            or infinite values.

    Raises:
        ValueError: See `load_encoder`; also if the kind of head is unknown.

    Example:

    >>> model = kbl.load_model("bert_mini_books")
    >>> sorted(model.output)
    ['sentence_embedding']
    """
    resolved = resolve(source)
    with skip_initialization():
        return format_of(resolved).load_model(resolved, changes)


def load_tokenizer(source: str | os.PathLike, **changes: Any) -> Tokenizer:
    """Loads the tokenizer of a checkpoint.

    Args:
        source: A directory with tokenizer.json (preferred), vocab.txt,
            vocab.json and merges.txt, or a SentencePiece .model; or
            `hf://owner/name`; or `keras-hub://preset`, or its directory.
        **changes: Arguments of the tokenizer to replace, such as
            `special_tokens_in_text=True`.

    Returns:
        A `WordPieceTokenizer`, `BytePairTokenizer` or `SentencePieceTokenizer`.

    Raises:
        ValueError: If the kind of tokenizer is not supported.

    Example:

    >>> tokenizer = kbl.load_tokenizer("bert_mini_books")
    >>> tokenizer(["a day"]).shape
    TensorShape([1, None])
    """
    resolved = resolve(source)
    return format_of(resolved).load_tokenizer(resolved, changes)


def load_preprocessor(source: str | os.PathLike, **changes: Any) -> Preprocessor:
    """Loads the tokenizer of a checkpoint together with its sequence length.

    The length is sentence-transformers' `max_seq_length` if there is one,
    otherwise the tokenizer's `model_max_length`; the size of the position table
    is the upper limit. Truncation and padding in tokenizer.json are ignored.

    Args:
        source: As in `load_tokenizer`.
        **changes: Arguments to replace: those of `Preprocessor`, such as
            `sequence_length` or `padding`, and of its tokenizer, such as
            `special_tokens_in_text=True`.

    Example:

    >>> preprocessor = kbl.load_preprocessor("bert_mini_books", sequence_length=16)
    >>> sorted(preprocessor(["a day"]))
    ['padding_mask', 'segment_ids', 'token_ids']
    """
    resolved = resolve(source)
    return format_of(resolved).load_preprocessor(resolved, changes)
