"""Checkpoints from one form to another."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_bert_lite._files import check_directory, replaced_directory
from keras_bert_lite._finite import check_finite_weights
from keras_bert_lite.checkpoints.hugging_face.saving import save_hugging_face
from keras_bert_lite.checkpoints.keras_hub.exchange import to_keras_hub
from keras_bert_lite.checkpoints.load import load_model, load_preprocessor
from keras_bert_lite.checks import check_choice
from keras_bert_lite.models.encoder_model import encoder_of
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.tasks import surgery
from keras_bert_lite.tasks.text_model import (
    MODEL_FILE,
    TextModel,
    load_text_model,
    model_on_ids,
    with_text,
)
from keras_bert_lite.tasks.text_parts import preprocessor_of
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.readers.lines import as_paths, read_lines

PRESET = ("metadata.json", "config.json", "model.weights.h5")  # of a backbone


def convert(
    source: str | os.PathLike,
    directory: str | os.PathLike,
    form: str = "hugging_face",
    dtype: str = "float32",
    keep_tokens: str | os.PathLike | None = None,
) -> Path:
    """Writes a checkpoint, with its head and tokenizer, in another form.

    Args:
        source: Any checkpoint; see `load_model`. Or the directory of a run of
            `finetune`, or the `.keras` file of a model made by `with_text`.
        directory: Where the result is written, whole or not at all. An older result
            of this form is replaced, or for `"saved_model"` gets another version; a
            directory that holds other files is refused.
        form: `"hugging_face"`: config.json, model.safetensors and the tokenizer's
            files; `"keras"`: `model.keras`, which takes strings; `"saved_model"`: for
            TF Serving; `"keras_hub"`: a preset of KerasHub's backbone, without head
            and tokenizer.
        dtype: The data type of weights in the form `"hugging_face"`: `"float32"`,
            `"float16"` or `"bfloat16"`.
        keep_tokens: A file of texts, one a line, whose tokens are kept; all others are
            left out, which makes a multilingual model smaller. See
            `surgery.keep_tokens`. `None` keeps them all.

    Returns:
        The directory.

    Raises:
        ValueError: If an argument is invalid, a weight is NaN or infinite,
            `directory` is a file or holds other files, or the form has no such model.

    Example:

    >>> folder = kbl.convert("bert_mini_books", "mini", form="keras")
    >>> [path.name for path in folder.iterdir()]
    ['model.keras']
    """
    check_choice("form", form, tuple(FORMS))
    if dtype != "float32" and form != "hugging_face":
        raise ValueError(
            f'`dtype` must be "float32" in the form {form!r}. Received: {dtype!r}'
        )
    check_directory(directory)
    texts = None if keep_tokens is None else _lines(keep_tokens)
    load = _run if _is_run(Path(source)) else _checkpoint
    loaded = load(source, texts)
    folder = Path(directory)
    check_finite_weights(loaded.model, "source")
    FORMS[form](loaded, folder, dtype)
    return folder


class _Loaded(NamedTuple):
    """A model on ids, its preprocessor, and what makes the model that takes strings."""

    model: keras.Model
    preprocessor: Preprocessor
    text_model: Callable[[], TextModel]


def _is_run(path: Path) -> bool:
    return path.suffix == Path(MODEL_FILE).suffix or (path / MODEL_FILE).is_file()


def _lines(path: str | os.PathLike) -> Iterator[str]:
    (file,) = as_paths(path, "keep_tokens")
    return (line.text for line in read_lines(file))


def _run(source: str | os.PathLike, texts: Iterable[str] | None) -> _Loaded:
    text_model = load_text_model(source, "source")
    if texts is not None:
        text_model = surgery.keep_tokens_in_text(text_model, texts)
    body, preprocessor = model_on_ids(text_model), preprocessor_of(text_model)
    return _Loaded(body, preprocessor, lambda: text_model)


def _checkpoint(source: str | os.PathLike, texts: Iterable[str] | None) -> _Loaded:
    model, preprocessor = load_model(source), load_preprocessor(source)
    if texts is not None:
        model, preprocessor = surgery.keep_tokens(model, preprocessor, texts)
    return _Loaded(model, preprocessor, lambda: with_text(model, preprocessor))


def _hugging_face(loaded: _Loaded, folder: Path, dtype: str) -> None:
    save_hugging_face(loaded.model, loaded.preprocessor, folder, dtype)


def _keras(loaded: _Loaded, folder: Path, _: Any) -> None:
    with replaced_directory(folder, MODEL_FILE, [MODEL_FILE]) as draft:
        loaded.text_model().save(draft / MODEL_FILE)


def _saved_model(loaded: _Loaded, folder: Path, _: Any) -> None:
    export_saved_model(loaded.text_model(), folder)


def _keras_hub(loaded: _Loaded, folder: Path, _: Any) -> None:
    with replaced_directory(folder, PRESET[0], PRESET) as draft:
        to_keras_hub(encoder_of(loaded.model)).save_to_preset(str(draft))


FORMS: dict[str, Callable[[_Loaded, Path, str], None]] = {
    "hugging_face": _hugging_face,
    "keras": _keras,
    "saved_model": _saved_model,
    "keras_hub": _keras_hub,
}
