"""Models that run files of other runtimes, from strings to answers."""

from __future__ import annotations

import abc
import contextlib
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice, check_installed, check_positive
from keras_bert_lite.serving.runtimes.few_strings import few_strings
from keras_bert_lite.serving.runtimes.file_metadata import (
    METADATA_FILE,
    METADATA_KEY,
    read_metadata,
)
from keras_bert_lite.serving.runtimes.openvino import MODEL_FILE
from keras_bert_lite.tasks.text_model import as_array
from keras_bert_lite.text.inputs import as_batch, check_rows, texts_by_input


class FileModel(abc.ABC):
    """Base class of models that run a file and its preprocessor on strings.

    `predict` may be called from several threads. An engine that answers one call at a
    time then answers their batches in turn.

    Attributes:
        concurrent: Whether the engine answers several calls at a time.
    """

    concurrent = False

    def __init__(self, metadata: str | None, path: str | os.PathLike) -> None:
        self._description = read_metadata(metadata, path)
        self.preprocessor = self._description.preprocessor
        self.answer: Any = self._description.answer
        self.inputs = self._description.inputs
        text = {name: tf.TensorSpec([None], tf.string, name) for name in self.inputs}
        self._tokenize = tf.function(
            self.preprocessor, autograph=False
        ).get_concrete_function(text)
        self._few_strings = few_strings(self.preprocessor)
        self._turn = contextlib.nullcontext() if self.concurrent else threading.Lock()

    def predict(self, texts: Any, batch_size: int = 32) -> dict[str, np.ndarray]:
        """Returns the same outputs as the exported Keras model.

        Args:
            texts: A list of strings; for text pairs, a dictionary of two lists,
                `text` and `text_pair`, a tuple of them, or a list of tuples.
            batch_size: Rows per batch. If there are more, texts of similar length
                share a batch.

        Returns:
            A dictionary of arrays, such as `label` and `scores` for a classifier.
            Those with a sequence axis are padded with zeros to the longest row.

        Raises:
            ValueError: If `batch_size` is not positive, or `texts` are not what the
                model takes.
        """
        check_positive("batch_size", batch_size)
        few = self._few_strings(texts) if self.inputs == ["text"] else None
        if few is not None and len(texts) <= batch_size:
            return self._answers(self._outputs(few))
        named = texts_by_input(texts, self.inputs)
        strings = {name: as_batch(x, name) for name, x in named.items()}
        check_rows(strings)
        if len(strings["text"]) <= batch_size:
            return self._answers(self._outputs(self._ids(strings)))
        lengths = sum(tf.strings.length(x) for x in strings.values())
        order = np.argsort(lengths, kind="stable")
        batches = []
        for i in range(0, len(order), batch_size):
            rows = order[i : i + batch_size]
            batch = {name: tf.gather(x, rows) for name, x in strings.items()}
            batches.append(self._outputs(self._ids(batch)))
        back = np.argsort(order)
        return self._answers(
            {k: joined([batch[k] for batch in batches])[back] for k in batches[0]}
        )

    def _ids(self, strings: dict[str, tf.Tensor]) -> dict[str, np.ndarray]:
        flat = [strings[name] for name in sorted(strings)]
        return {k: x.numpy() for k, x in self._tokenize(*flat).items()}

    def _answers(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self.answer is None:
            return values
        return {k: as_array(x) for k, x in self.answer(values["logits"]).items()}

    def _outputs(self, ids: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        with self._turn:
            return self._run(ids)

    @abc.abstractmethod
    def _run(self, ids: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the model's outputs on ids, by name, in arrays of their own."""


class OnnxModel(FileModel):
    """A file made by `export_onnx`, run by ONNX Runtime on the CPU.

    Calls from several threads run at the same time.

    Args:
        path: The file.
        num_threads: Number of threads per batch; `None` uses every core.

    Raises:
        ImportError: If `onnxruntime` is not installed.
        ValueError: If the file does not contain a preprocessor.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)
    >>> path = kbl.serving.export_onnx(model, "embed.onnx")
    >>> kbl.serving.OnnxModel(path).predict(["a day"])["sentence_embedding"].shape
    (1, 256)
    """

    concurrent = True

    def __init__(self, path: str | os.PathLike, num_threads: int | None = None) -> None:
        check_installed("onnxruntime", extra="onnx")
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads or 0
        self._session = onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
        properties = self._session.get_modelmeta().custom_metadata_map
        super().__init__(properties.get(METADATA_KEY), path)
        self._names = [output.name for output in self._session.get_outputs()]
        self._takes = {x.name for x in self._session.get_inputs()}
        outputs = self._session.get_outputs()
        self._description.check_graph({x.name: x.shape[-1] for x in outputs})

    def _run(self, ids: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        inputs = {name: ids[name] for name in self._takes}
        values = self._session.run(self._names, inputs)
        return dict(zip(self._names, values, strict=True))


class LiteRTModel(FileModel):
    """A file made by `export_litert`, run by LiteRT with XNNPACK.

    Rows run one by one, each padded to the shortest of the file's lengths that
    fits. Calls from several threads run one after the other.

    Args:
        path: The file.
        num_threads: Number of threads per row; `None` uses every core.

    Raises:
        ImportError: If `ai-edge-litert` is not installed.
        ValueError: If the file does not contain a preprocessor.
    """

    def __init__(self, path: str | os.PathLike, num_threads: int | None = None) -> None:
        check_installed("ai_edge_litert", extra="litert")
        from ai_edge_litert import interpreter

        self._interpreter = interpreter.Interpreter(
            os.fspath(path), num_threads=num_threads or os.cpu_count()
        )
        super().__init__(_litert_metadata(path), path)
        names = self._interpreter.get_signature_list()
        self._runners = {
            int(name.removeprefix("length_")): self._interpreter.get_signature_runner(
                name
            )
            for name in sorted(names, key=lambda name: int(name.split("_")[1]))
        }
        longest = max(self._runners)
        outputs = self._runners[longest].get_output_details()
        self._description.check_graph(
            {name: int(x["shape"][-1]) for name, x in outputs.items()}, longest
        )

    def _run(self, ids: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows = [
            self._run_row({name: x[i : i + 1] for name, x in ids.items()})
            for i in range(len(ids["token_ids"]))
        ]
        if not rows:
            values = self._run_row(
                {k: np.zeros((1, 2), x.dtype) for k, x in ids.items()}
            )
            return {name: x[:0] for name, x in values.items()}
        return {name: joined([row[name] for row in rows]) for name in rows[0]}

    def _run_row(self, ids: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        real = int(ids["padding_mask"].sum())
        length = next(n for n in self._runners if n >= real)
        runner = self._runners[length]
        inputs = {
            name: np.pad(x[:, :real], ((0, 0), (0, length - real)))
            for name, x in ids.items()
            if name in runner.get_input_details()
        }
        return {
            name: x[:, :real] if x.ndim > 2 else x
            for name, x in runner(**inputs).items()
        }


class OpenVinoModel(FileModel):
    """A directory made by `export_openvino`, run by OpenVINO on the CPU.

    Calls from several threads run one after the other.

    Args:
        path: The directory.
        num_threads: Number of threads per batch; `None` uses every core.
        compute: What matrix products run in: `"bfloat16"`, which changes answers in
            the third digit or so, `"float32"`, or `None` for bfloat16 if the
            processor has it.

    Raises:
        ImportError: If `openvino` is not installed.
        ValueError: If the directory does not contain a model and a preprocessor, or
            `compute` is none of these, or the processor does not have it.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.with_text(kbl.sentence_encoder(encoder), preprocessor)
    >>> path = kbl.serving.export_openvino(model, "embed")
    >>> kbl.serving.OpenVinoModel(path).predict(["a day"])["sentence_embedding"].shape
    (1, 256)
    """

    def __init__(
        self,
        path: str | os.PathLike,
        num_threads: int | None = None,
        compute: str | None = None,
    ) -> None:
        check_installed("openvino", extra="openvino")
        import openvino

        file = Path(path) / METADATA_FILE
        super().__init__(file.read_text("utf-8") if file.is_file() else None, path)
        core = openvino.Core()
        options = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": num_threads or 0,
            "INFERENCE_PRECISION_HINT": _openvino_precision(core, compute),
            # Pinned threads would wait where other work has their cores.
            "ENABLE_CPU_PINNING": False,
        }
        model = core.compile_model(Path(path) / MODEL_FILE, "CPU", options)
        self._takes = {x.any_name for x in model.inputs}
        self._description.check_graph(
            {x.any_name: _last_size(x.partial_shape) for x in model.outputs}
        )
        self._request = model.create_infer_request()

    def _run(self, ids: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        values = self._request.infer({name: ids[name] for name in self._takes})
        return {x.any_name: values[x] for x in values}


def _last_size(shape: Any) -> int | None:
    """Returns the size of the last axis, if OpenVINO knows it."""
    last = shape[len(shape) - 1]
    return last.get_length() if last.is_static else None


def _openvino_precision(core: Any, compute: str | None) -> str:
    """Returns OpenVINO's name of what to compute in."""
    capable = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if compute is None:
        compute = "bfloat16" if capable else "float32"
    check_choice("compute", compute, ("bfloat16", "float32"))
    if compute == "bfloat16" and not capable:
        raise ValueError(
            '`compute` must be "float32" or None on a processor without bfloat16. '
            "Received: 'bfloat16'"
        )
    return "bf16" if compute == "bfloat16" else "f32"


def _litert_metadata(path: str | os.PathLike) -> str | None:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(METADATA_FILE).decode()
    except (zipfile.BadZipFile, KeyError):
        return None


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenates batches, padding the sequence axis to the longest with zeros."""
    if parts[0].ndim < 3:
        return np.concatenate(parts)
    longest = max(part.shape[1] for part in parts)
    widths = [(0, 0)] * (parts[0].ndim - 2)
    return np.concatenate(
        [np.pad(x, [(0, 0), (0, longest - x.shape[1]), *widths]) for x in parts]
    )
