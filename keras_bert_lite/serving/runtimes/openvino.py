"""Export to OpenVINO."""

import os
import tempfile
from pathlib import Path

from keras_bert_lite._files import replaced_directory
from keras_bert_lite.checks import check_installed
from keras_bert_lite.layers.execution.engines import for_engine
from keras_bert_lite.serving.runtimes.file_metadata import METADATA_FILE, file_metadata
from keras_bert_lite.serving.runtimes.id_graphs import id_specs, save_functions, traced
from keras_bert_lite.tasks.text_model import TextModel, load_text_model, model_on_ids

MODEL_FILE = "model.xml"  # and model.bin beside it


def export_openvino(
    model: TextModel | str | os.PathLike, directory: str | os.PathLike
) -> Path:
    """Exports a model made by `with_text` to a directory for OpenVINO.

    Its `model.xml` and `model.bin` take `token_ids`, `segment_ids` (int32) and
    `padding_mask` (bool), `(B, S)` each, and return the outputs of the model on ids by
    name. Weights are float32; `OpenVinoModel` chooses what is computed in. Padding is
    left out around attention unless the model's encoder has `unpadding=False`.
    `keras_bert_lite.json` has the preprocessor and the labels, so `OpenVinoModel` takes
    strings.

    Args:
        model: A model made by `with_text`, or its `.keras` file, or the directory of
            a run of `finetune`.
        directory: The directory to write. It appears, or replaces an older one, only
            when complete.

    Returns:
        `directory`.

    Raises:
        ImportError: If `openvino` is not installed.
        NotImplementedError: If the backend is not TensorFlow.
        TypeError: If the model was not made by `with_text`.
        FileNotFoundError: If there is no such file.
        ValueError: If its answers need more than `logits`, it returns lists or
            tensors that are not float32, or `directory` holds other files.
    """
    check_installed("openvino", extra="openvino")
    model = load_text_model(model)
    metadata = file_metadata(model)
    with replaced_directory(directory, METADATA_FILE) as draft:
        _convert(model, draft / MODEL_FILE)
        (draft / METADATA_FILE).write_text(metadata, encoding="utf-8")
    return Path(directory)


def _convert(model: TextModel, file: Path) -> None:
    import openvino

    body = model_on_ids(model)
    with tempfile.TemporaryDirectory() as folder:
        with for_engine(fuses_attention=True):
            function = traced(body, id_specs(body))
        save_functions(model, {"serving_default": function}, folder)
        # Not `convert_model`, which tells Intel that it was used.
        graph = openvino.Core().read_model(folder)
        openvino.save_model(graph, file, compress_to_fp16=False)
