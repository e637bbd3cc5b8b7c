"""Checkpoints from one form to another."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

from keras_bert_lite.checkpoints.hugging_face.saving import save_hugging_face
from keras_bert_lite.checkpoints.keras_hub.exchange import to_keras_hub
from keras_bert_lite.checkpoints.load import load_model, load_preprocessor
from keras_bert_lite.checks import check_choice
from keras_bert_lite.models.encoder_model import encoder_of
from keras_bert_lite.models.text_model import MODEL_FILE, with_text
from keras_bert_lite.serving.saved_model.export import export_saved_model
from keras_bert_lite.text.preprocessor import Preprocessor


def convert(
    source: str | os.PathLike,
    directory: str | os.PathLike,
    form: str = "hugging_face",
    dtype: str = "float32",
) -> Path:
    """Writes a checkpoint, with its head and tokenizer, in another form.

    Args:
        source: Any checkpoint; see `load_model`.
        directory: Where the result is written.
        form: `"hugging_face"`: config.json, model.safetensors and the tokenizer's
            files; `"keras"`: `model.keras`, which takes strings; `"saved_model"`: for
            TF Serving; `"keras_hub"`: a preset of KerasHub's backbone, without head
            and tokenizer.
        dtype: The data type of weights in the form `"hugging_face"`: `"float32"`,
            `"float16"` or `"bfloat16"`.

    Returns:
        The directory.

    Raises:
        ValueError: If an argument is invalid, or the form has no such model.

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
    model, preprocessor = load_model(source), load_preprocessor(source)
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    FORMS[form](model, preprocessor, folder, dtype)
    return folder


def _hugging_face(
    model: keras.Model, preprocessor: Preprocessor, folder: Path, dtype: str
) -> None:
    save_hugging_face(model, preprocessor, folder, dtype)


def _keras(
    model: keras.Model, preprocessor: Preprocessor, folder: Path, _: Any
) -> None:
    with_text(model, preprocessor).save(folder / MODEL_FILE)


def _saved_model(
    model: keras.Model, preprocessor: Preprocessor, folder: Path, _: Any
) -> None:
    export_saved_model(with_text(model, preprocessor), folder)


def _keras_hub(
    model: keras.Model, preprocessor: Preprocessor, folder: Path, _: Any
) -> None:
    to_keras_hub(encoder_of(model)).save_to_preset(str(folder))


FORMS: dict[str, Callable[[keras.Model, Preprocessor, Path, str], None]] = {
    "hugging_face": _hugging_face,
    "keras": _keras,
    "saved_model": _saved_model,
    "keras_hub": _keras_hub,
}
