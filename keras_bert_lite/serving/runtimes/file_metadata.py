"""Metadata in model files for other runtimes."""

import json
from typing import Any

import keras

from keras_bert_lite.models.text_model import (
    TextModel,
    answer_of,
    model_on_ids,
    preprocessor_of,
)
from keras_bert_lite.serving.saved_model.exported_signatures import answers_ids
from keras_bert_lite.text.preprocessor import Preprocessor

METADATA_KEY = "keras_bert_lite"
METADATA_FILE = f"{METADATA_KEY}.json"


def file_metadata(model: TextModel) -> str:
    """Returns a model's preprocessor, inputs and answer as JSON.

    Raises:
        ValueError: If its answers need the text or windows, or it returns lists
            or tensors that are not float32.
    """
    answer, body = answer_of(model), model_on_ids(model)
    plain = all(len(x.shape) == 2 for x in body.input.values())
    if not plain or not (answer is None or answers_ids(model)):
        raise ValueError(
            "`model` must take one row of ids per text, and its answers must need "
            "only `logits`; `export_saved_model` takes any. Received: a model with "
            f"the answers {sorted(model.output)}"
        )
    values = body.output
    others = [name for name, x in values.items() if _kind(x) != "float32"]
    if others:
        raise ValueError(
            "`model` must return float32 tensors by name. Received: "
            + ", ".join(f"{name} ({_kind(values[name])})" for name in others)
        )
    preprocessor = keras.saving.serialize_keras_object(preprocessor_of(model))
    description = {
        "preprocessor": preprocessor,
        "inputs": list(model.input),
        "answer": answer and keras.saving.serialize_keras_object(answer),
    }
    return json.dumps(description)


def _kind(value: Any) -> str:
    return getattr(value, "dtype", type(value).__name__)


def read_metadata(text: str | None, path: object) -> tuple[Preprocessor, dict]:
    """Returns the preprocessor and the full description.

    Raises:
        ValueError: If the file has no metadata.
    """
    if text is None:
        raise ValueError(
            "`path` must be a file or directory made by keras_bert_lite, which "
            f"carries its preprocessor. Received: {path}"
        )
    description = json.loads(text)
    preprocessor = keras.saving.deserialize_keras_object(description["preprocessor"])
    return preprocessor, description
