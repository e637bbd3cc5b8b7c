"""What a model reads of one example: rows of ids, and the pieces in their places."""

from __future__ import annotations

import dataclasses
import itertools
import os
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.models.encoder_model import encoder_of
from keras_bert_lite.tasks.compatibility import check_fits
from keras_bert_lite.tasks.string_form import TextsApart
from keras_bert_lite.tasks.text_model import TextModel, ids_of, load_text_model
from keras_bert_lite.tasks.text_parts import preprocessor_of
from keras_bert_lite.text.inputs import aligned, as_batch, named_texts
from keras_bert_lite.text.preprocessor import ID_DTYPES, Preprocessor
from keras_bert_lite.text.token_offsets import LocatedTokens, locate, locate_words
from keras_bert_lite.text.window_layer import TextWindows

NO_PIECE = -1  # the place of a special token, or of padding


class Piece(NamedTuple):
    """A piece of a text.

    Attributes:
        token: The piece, as it stands in the vocabulary.
        text: The index of its text: 1 for the second of a pair; of texts encoded apart
            their place; else 0.
        start, end: Its characters (code points) in the text, `end` exclusive.
        first_byte, last_byte: Its bytes in the text in UTF-8, `last_byte` exclusive.
    """

    token: str
    text: int
    start: int
    end: int
    first_byte: int
    last_byte: int


@dataclasses.dataclass(frozen=True)
class Reading:
    """One example as a model reads it.

    Attributes:
        texts: The texts, to which offsets refer; words are joined by spaces.
        inputs: The inputs of the model on ids: `(1, S)`; `(1, C, S)` for C texts or
            windows that the model joins; `(N, S)` for N windows that it does not.
        places: The index of the piece at each place of `token_ids`, or `NO_PIECE`.
        pieces: The pieces of all texts, read or not.
        windows: The outputs of the model's `TextWindows`; empty if it has none.
    """

    texts: tuple[str, ...]
    inputs: dict[str, tf.Tensor]
    places: np.ndarray
    pieces: tuple[Piece, ...]
    windows: dict[str, tf.Tensor]


def one_example(model: TextModel, text: Any) -> dict[str, tf.Tensor]:
    """Returns an example as a batch of one.

    Raises:
        TypeError: If a text is not a string, or a list of words.
        ValueError: If the model takes other texts.
    """
    named = named_texts(text)
    if set(named) != set(model.input):
        raise ValueError(
            f"`text` must be {_expected(model)}. Received: {sorted(named)}"
        )
    for name, value in named.items():
        words = len(model.input[name].shape) == 2
        if not isinstance(value, list if words else str):
            kind = "a list of words" if words else "one string"
            raise TypeError(f"`{name}` must be {kind}. Received: {value!r}")
    return {
        name: as_batch([value], name, len(model.input[name].shape), words=True)
        for name, value in named.items()
    }


def _expected(model: TextModel) -> str:
    return "a pair `(text, text_pair)`" if len(model.input) == 2 else "one text"


def read(model: TextModel, texts: dict[str, tf.Tensor]) -> Reading:
    """Reads one example, a batch of one, as a model does."""
    preprocessor = preprocessor_of(model)
    preprocessor.check_without_prompt("what locates its tokens in the text")
    tokenizer = preprocessor.tokenizer
    layers = {type(layer): layer for layer in model.layers}
    if TextWindows in layers:
        windows = layers[TextWindows](texts)
        inputs = {name: windows[name] for name in ID_DTYPES}
        located = [
            locate(tokenizer, x) if x.shape.rank == 1 else locate_words(tokenizer, x)[0]
            for x in texts.values()
        ]
        numbers = preprocessor.windows(_numbered(located, tokenizer))[2]
    else:
        windows = {}
        inputs = ids_of(model, texts)
        apart = layers.get(TextsApart)
        shape, flat = aligned(texts if apart is None else {"text": apart(texts)})
        located = [locate(tokenizer, x) for x in flat]
        numbers = preprocessor.rows(_numbered(located, tokenizer), shape)
    return _reading(tokenizer, located, inputs, numbers, windows)


def encoder_and_rows(
    model: TextModel | keras.Model | str | os.PathLike,
    preprocessor: Preprocessor | None,
) -> tuple[keras.Model, Preprocessor]:
    """Returns the encoder of a model, and what makes single rows for it.

    Args:
        model: A model that takes strings, or its file; or one on ids.
        preprocessor: That of a model on ids; `None` if the model takes strings.

    Raises:
        TypeError: If a model on ids has no preprocessor, or the other has two.
        ValueError: If they do not fit.
    """
    if isinstance(model, (str, os.PathLike)):
        model = load_text_model(model)
    if isinstance(model, TextModel) == isinstance(preprocessor, Preprocessor):
        raise TypeError(
            "`preprocessor` must be a `Preprocessor` if `model` takes token ids, and "
            f"None if it takes strings. Received: model={model!r}, "
            f"preprocessor={preprocessor!r}"
        )
    if preprocessor is None:
        preprocessor = preprocessor_of(model)
    else:
        check_fits(model, preprocessor, "model")
    preprocessor.check_without_prompt("what locates its tokens in the text")
    # Without padding and windows.
    rows = Preprocessor(
        preprocessor.tokenizer,
        preprocessor.sequence_length,
        num_separators=preprocessor.num_separators,
    )
    return encoder_of(model), rows


def read_row(preprocessor: Preprocessor, text: Any) -> Reading:
    """Reads a text or a pair as one row, `(1, S)`; what is too long is cut off.

    Raises:
        TypeError: If a text is not a string.
    """
    named = named_texts(text)
    for name, value in named.items():
        if not isinstance(value, str):
            raise TypeError(f"`{name}` must be one string. Received: {value!r}")
    shape, flat = aligned({name: [value] for name, value in named.items()})
    tokenizer = preprocessor.tokenizer
    located = [locate(tokenizer, x) for x in flat]
    inputs = preprocessor.rows([x.ids for x in located], shape)
    numbers = preprocessor.rows(_numbered(located, tokenizer), shape)
    return _reading(tokenizer, located, inputs, numbers, {})


def _reading(
    tokenizer: Any,
    located: list[LocatedTokens],
    inputs: dict[str, tf.Tensor],
    numbers: dict[str, tf.Tensor],
    windows: dict[str, tf.Tensor],
) -> Reading:
    places = numbers["token_ids"].numpy() - tokenizer.vocabulary_size()
    strings = [x.decode() for tokens in located for x in tokens.text.numpy()]
    return Reading(
        texts=tuple(strings),
        inputs=inputs,
        places=np.where(places < 0, NO_PIECE, places),
        pieces=tuple(_pieces(located, strings, tokenizer)),
        windows=windows,
    )


def _numbered(located: list[LocatedTokens], tokenizer: Any) -> list[tf.RaggedTensor]:
    """Returns the index of each piece behind the ids of the vocabulary.

    Rows of these show which piece stands where, whatever was cut off.
    """
    sizes = [tokens.starts.shape[0] for tokens in located]
    begins = itertools.accumulate(sizes, initial=tokenizer.vocabulary_size())
    return [
        tokens.ids.with_values(begin + tf.range(size))
        for tokens, begin, size in zip(located, begins, sizes, strict=False)
    ]


def _pieces(located: list[LocatedTokens], texts: list[str], tokenizer: Any) -> Any:
    """Yields the pieces of texts."""
    before = 0
    for tokens in located:
        rows = tokens.rows.numpy() + before
        before += tokens.text.shape[0]
        parts = (tokens.ids.values, tokens.starts, tokens.ends)
        for row, *values in zip(rows, *(x.numpy() for x in parts), strict=True):
            id, start, end = (int(x) for x in values)
            first, last = (len(texts[row][:x].encode()) for x in (start, end))
            token = tokenizer.id_to_token(id)
            yield Piece(token, int(row), start, end, first, last)
