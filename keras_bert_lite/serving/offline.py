"""Batch prediction for any number of texts."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import numpy as np

from keras_bert_lite._progress_bar import progress_bar
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive
from keras_bert_lite.serving.check.saved_model_files import find_version
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.inputs import PROMPT, TEXT, as_batch

WINDOW = 64  # batches whose texts are sorted by length together


def predict_texts(
    model: TextModel | str | os.PathLike,
    texts: Iterable[Any],
    batch_size: int = 32,
    progress: bool = True,
) -> Iterator[dict[str, Any]]:
    """Predicts the answers for any number of texts, in order.

    Texts are processed in windows of 64 batches, so neither all texts nor all
    answers need to fit into memory. Within a window, texts of similar length
    share a batch.

    Args:
        model: A model made by `with_text`, or the path of a SavedModel made by
            `export_saved_model`: a version directory, or the model's directory
            for its newest version.
        texts: An iterable, possibly a generator, of strings or, for text pairs,
            of `(text, text_pair)` tuples; a list of strings if a row has several
            (choices, candidates, split words).
        batch_size: Texts per batch.
        progress: Whether to show a progress bar.

    Returns:
        An iterator that yields, for each text, a dictionary of the model's
        outputs without the batch axis. Outputs with a sequence axis are padded to
        the length of their batch.

    Raises:
        TypeError: If `model` is neither, or a text is not a string.
        ValueError: If `batch_size` is not positive, the path holds no
            SavedModel, or the model takes pairs and the texts are single, or
            vice versa.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)
    >>> answers = kbl.predict_texts(model, ["a day", "fine"], progress=False)
    >>> len(list(answers))
    2
    """
    check_positive("batch_size", batch_size)
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"`texts` must be strings in a list. Received: {texts!r}")
    call, names = _callable(model)
    total = len(texts) if isinstance(texts, Sized) else None
    bar = progress_bar(total, progress, unit_name="text")
    rows = (as_row(text, names, f"Text {i}") for i, text in enumerate(texts))
    return answers_of(call, names, rows, batch_size, bar.add)


def answers_of(
    call: Callable,
    names: list[str],
    rows: Iterable[tuple],
    batch_size: int,
    done: Callable[[int], Any] = lambda number: None,
) -> Iterator[dict[str, Any]]:
    """Yields the answer of each row, in order; see `predict_texts`.

    Args:
        call: A function from lists of strings to arrays, both by name.
        names: The names of its inputs.
        rows: Strings in the order of the names.
        batch_size: Rows per batch.
        done: Is told how many rows each batch had.
    """
    rows = iter(rows)
    while window := list(itertools.islice(rows, WINDOW * batch_size)):
        answers: list[Any] = [None] * len(window)
        order = sorted(range(len(window)), key=lambda i: sum(map(len, window[i])))
        for start in range(0, len(order), batch_size):
            indices = order[start : start + batch_size]
            columns = zip(*(window[i] for i in indices), strict=True)
            batch = call(**dict(zip(names, map(list, columns), strict=True)))
            for row, index in enumerate(indices):
                answers[index] = {name: x[row] for name, x in batch.items()}
            done(len(indices))
        yield from answers


def _callable(model: Any) -> tuple[Callable, list[str]]:
    """Returns a function from strings to arrays, both by name, and its input names."""
    if isinstance(model, TextModel):
        run, names = (lambda **texts: model.predict_on_batch(texts)), list(model.input)
    elif isinstance(model, (str, os.PathLike)):
        return saved_function(find_version(model)[0])
    else:
        raise TypeError(
            "`model` must be a string-in model or the path of a SavedModel. "
            f"Received: {model!r}"
        )
    return lambda **texts: _arrays(run(**texts)), names


def saved_function(version: str | os.PathLike) -> tuple[Callable, list[str]]:
    """Loads a SavedModel; returns its `serving_default` and the names of its inputs."""
    import tensorflow_text  # noqa: F401  registers its operations

    loaded = tf.saved_model.load(str(version))
    signature = loaded.signatures["serving_default"]
    specs = signature.structured_input_signature[1]
    ranks = {name: len(spec.shape) for name, spec in specs.items()}

    def run(**texts):
        assert loaded is not None  # keeps the variables alive
        words = len(texts) == 1
        batch = {k: as_batch(x, k, ranks[k], words) for k, x in texts.items()}
        return _arrays(signature(**batch))

    return run, sorted(specs, key=lambda name: (name != TEXT, name))


def as_row(text: Any, names: list[str], what: str) -> tuple:
    """Returns a text, or a pair, as a tuple of what the inputs take.

    Raises:
        TypeError: If it is no string; `what` is its name in the message.
        ValueError: If the model takes another number of strings.
    """
    row = text if isinstance(text, tuple) else (text,)
    if PROMPT in names and len(row) == len(names) - 1:
        row = (*row, "")  # the default prompt
    if not all(isinstance(x, (str, bytes, list)) for x in row):
        raise TypeError(f"{what} must be a string. Received: {text!r}")
    if len(row) != len(names):
        raise ValueError(
            f"{what} must be what the model takes, {names}. Received: {text!r}"
        )
    return row


def _arrays(values: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: _array(value) for name, value in values.items()}


def _array(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype == object:
        array = np.array([x.decode() for x in array.ravel()]).reshape(array.shape)
    return array
