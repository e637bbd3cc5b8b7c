"""Predictions for a corpus, by an Apache Beam pipeline (extra `beam`)."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.ml.inference.base import ModelHandler, PredictionResult, RunInference
from tensorflow.core.framework import types_pb2

from keras_bert_lite import _beam_files as files
from keras_bert_lite.checks import check_positive
from keras_bert_lite.serving.check.saved_model_files import (
    find_version,
    read_meta_graph,
)
from keras_bert_lite.serving.offline import (
    WINDOW,
    answers_of,
    as_row,
    saved_function,
)

FILE = "saved_model.pb"


class PredictTexts(beam.PTransform):
    """`predict_texts` as a transform, for a corpus that one machine cannot embed.

    It takes a collection of texts, and is Beam's `RunInference` with a
    `SavedModelHandler`. It was run on the direct runner, in one process and in
    several; no other runner was tried.

    Args:
        model, batch_size: See `SavedModelHandler`.

    Returns:
        A collection of tuples of a text and its answer: a dictionary of the model's
        outputs, arrays without the batch axis.

    Raises:
        TypeError: In the pipeline, if a text is not a string.
        ValueError: See `SavedModelHandler`; in the pipeline, if the model takes pairs
            and the texts are single, or vice versa.

    Example:

    >>> with beam.Pipeline(options=options) as pipeline:
    ...     texts = pipeline | beam.io.ReadFromText("corpus/*.txt")
    ...     answers = texts | PredictTexts("models/embed")
    """

    def __init__(self, model: str | os.PathLike, batch_size: int = 32) -> None:
        super().__init__()
        self._handler = SavedModelHandler(model, batch_size)

    def expand(self, texts: beam.PCollection) -> beam.PCollection:
        return (
            texts
            | "Answers" >> RunInference(self._handler)
            | "Pairs" >> beam.Map(lambda made: (made.example, made.inference))
        )


class SavedModelHandler(ModelHandler):
    """Runs a SavedModel that takes strings in Beam's `RunInference`.

    Use it instead of `PredictTexts` for what `RunInference` offers: texts with keys
    (`KeyedModelHandler`), failed batches as a collection (`with_exception_handling`),
    metrics.

    A worker collects the texts of a bundle up to 64 batches. Within these, texts of
    similar length share a batch, because batches are padded to their longest text.
    Each process has one copy of the model, whose version was chosen when the
    pipeline was made.

    Args:
        model: The path of a SavedModel made by `export_saved_model`: a version
            directory, or the model's directory for its newest version. All workers
            must see it under this path. A path with a scheme, such as
            `gs://bucket/embed`, is read by Beam's file systems and copied by each
            process before it loads the model.
        batch_size: Texts per batch, at most.

    Raises:
        ValueError: If the path holds no SavedModel, the model does not take strings,
            or `batch_size` is not positive.

    Example:

    >>> RunInference(KeyedModelHandler(SavedModelHandler("models/embed")))
    """

    def __init__(self, model: str | os.PathLike, batch_size: int = 32) -> None:
        check_positive("batch_size", batch_size)
        # Fixed, since Beam's own choice, by time, would be other batches each run.
        most = WINDOW * batch_size
        super().__init__(min_batch_size=most, max_batch_size=most)
        self._version, self._batch_size = _version_of(os.fspath(model)), batch_size
        self._names = _string_inputs(self._version)

    def load_model(self) -> Callable:
        with files.working_folder(self._version) as folder:
            return saved_function(folder)[0]

    def run_inference(
        self, batch: Sequence[Any], model: Callable, inference_args: Any = None
    ) -> Iterator[PredictionResult]:
        rows = [as_row(text, self._names, "A text") for text in batch]
        answers = answers_of(model, self._names, rows, self._batch_size)
        for text, answer in zip(batch, answers, strict=True):
            yield PredictionResult(text, answer, self._version)

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        if inference_args:
            raise ValueError(
                "`inference_args` must be empty: a SavedModel takes only texts. "
                f"Received: {inference_args!r}"
            )


def _version_of(model: str) -> str:
    """Returns the directory of the version that all workers load."""
    if not files.is_remote(model):
        return str(find_version(model)[0].absolute())
    model = model.rstrip("/")
    found = files.files_under(model)
    if FILE in found:
        return model
    folders = [x.removesuffix(f"/{FILE}") for x in found if x.endswith(f"/{FILE}")]
    numbers = [int(x) for x in folders if x.isascii() and x.isdigit()]
    if not numbers:
        raise ValueError(
            f"`model` must be a SavedModel made by `export_saved_model`. Received: "
            f"{model!r}, which holds {found[:5]}"
        )
    return f"{model}/{max(numbers)}"


def _string_inputs(version: str) -> list[str]:
    """Returns the names of the inputs of `serving_default`.

    Raises:
        ValueError: If it is missing, or an input is not a string.
    """
    with tempfile.TemporaryDirectory() as beside:
        folder = Path(version)
        if files.is_remote(version):
            folder = Path(beside)
            files.fetch(f"{version}/{FILE}", folder / FILE)
        signature = read_meta_graph(folder).signature_def["serving_default"]
    types = {k: types_pb2.DataType.Name(x.dtype) for k, x in signature.inputs.items()}
    if not types or set(types.values()) != {"DT_STRING"}:
        raise ValueError(
            "`model` must take strings, as one made by `with_text` and "
            f"`export_saved_model` does. Received: {version!r}, which takes {types}"
        )
    return sorted(types)
