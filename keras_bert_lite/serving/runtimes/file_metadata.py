"""Metadata in model files for other runtimes."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import keras

from keras_bert_lite._json import parse_json
from keras_bert_lite.checks import check_positive
from keras_bert_lite.layer_config import layer_from_config
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of
from keras_bert_lite.serving.saved_model.exported_signatures import answers_ids
from keras_bert_lite.tasks.string_form import Answer
from keras_bert_lite.tasks.text_model import TextModel, model_on_ids
from keras_bert_lite.tasks.text_parts import answer_of, preprocessor_of
from keras_bert_lite.text.preprocessor import Preprocessor

METADATA_KEY = "keras_bert_lite"
METADATA_FILE = f"{METADATA_KEY}.json"
INPUTS = (["text"], ["text", "text_pair"])


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
    embeddings, blocks, _ = encoder_layers(encoder_of(body))
    limits = embeddings if blocks.config is None else blocks.config
    description = {
        "preprocessor": preprocessor,
        "inputs": list(model.input),
        "answer": answer and keras.saving.serialize_keras_object(answer),
        "vocabulary_size": limits.vocabulary_size,
        "max_sequence_length": limits.max_sequence_length,
    }
    return json.dumps(description)


def _kind(value: Any) -> str:
    return getattr(value, "dtype", type(value).__name__)


@dataclasses.dataclass(frozen=True)
class Description:
    """What a file says about its model.

    Args:
        path: The file or directory, for messages.
        preprocessor: What makes the model's ids.
        inputs: The names of its strings.
        answer: What makes answers of its outputs; `None` if they are the answers.
    """

    path: Any
    preprocessor: Preprocessor
    inputs: list[str]
    answer: Answer | None

    def check_graph(
        self, widths: Mapping[str, Any], longest: int | None = None
    ) -> None:
        """Checks that the description is that of the file's graph.

        Args:
            widths: The size of the last axis of each of the graph's outputs, or
                something else than an integer where the graph leaves it open.
            longest: The longest row that the graph takes, if it has such a limit.

        Raises:
            ValueError: If the answers need another output or other labels, or rows may
                be longer than the graph takes.
        """
        length = self.preprocessor.sequence_length
        if longest is not None and (length is None or length > longest):
            raise ValueError(
                f"{self.path}: the preprocessor must make rows of at most {longest} "
                f"tokens. Received: sequence_length={length}"
            )
        if self.answer is None:
            return
        if "logits" not in widths:
            raise ValueError(
                f"{self.path}: answers need the output `logits`. "
                f"Received: {sorted(widths)}"
            )
        width = widths["logits"]
        logits = keras.KerasTensor((None, width if isinstance(width, int) else None))
        try:
            self.answer.compute_output_spec(logits)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from error


def read_metadata(text: str | None, path: object) -> Description:
    """Reads the description in a file, which may be of unknown origin.

    Raises:
        ValueError: If there is none, or it is not one that `file_metadata` returns.
    """
    if text is None:
        raise ValueError(
            "`path` must be a file or directory made by keras_bert_lite, which "
            f"carries its preprocessor. Received: {path}"
        )
    try:
        return _description(parse_json(text), path)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: the description of the model must be one that this version of "
            f"keras_bert_lite wrote: {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def _description(values: Any, path: object) -> Description:
    preprocessor = layer_from_config(
        values["preprocessor"], Preprocessor, "`preprocessor`"
    )
    answer = values["answer"]
    if answer is not None:
        answer = layer_from_config(answer, Answer, "`answer`")
    inputs = values["inputs"]
    if inputs not in INPUTS:
        raise ValueError(f"`inputs` must be one of {INPUTS}. Received: {inputs!r}")
    if preprocessor.stride is not None:
        raise ValueError(
            "`preprocessor` must make one row per text. "
            f"Received: stride={preprocessor.stride}"
        )
    pieces, rows = values["vocabulary_size"], values["max_sequence_length"]
    check_positive("vocabulary_size", pieces)
    size = preprocessor.tokenizer.vocabulary_size()
    if size > pieces:
        raise ValueError(
            f"the vocabulary must have at most the {pieces} pieces that the model has "
            f"embeddings for. Received: {size}"
        )
    length = preprocessor.sequence_length
    if rows is not None:
        check_positive("max_sequence_length", rows)
        if length is None or length > rows:
            raise ValueError(
                "`sequence_length` must be at most the model's "
                f"max_sequence_length={rows}. Received: {length}"
            )
    return Description(path, preprocessor, inputs, answer)
