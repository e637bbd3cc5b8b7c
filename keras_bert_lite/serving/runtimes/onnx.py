"""Export to ONNX, for ONNX Runtime."""

import os
import warnings
from pathlib import Path
from typing import Any

from keras_bert_lite._files import replaced_file
from keras_bert_lite.checks import check_installed
from keras_bert_lite.layers.execution.engines import for_engine
from keras_bert_lite.serving.runtimes.file_metadata import METADATA_KEY, file_metadata
from keras_bert_lite.serving.runtimes.id_graphs import id_specs
from keras_bert_lite.tasks.text_model import TextModel, load_text_model, model_on_ids

OPSET = 18


def export_onnx(
    model: TextModel | str | os.PathLike,
    path: str | os.PathLike,
    int8: bool = False,
) -> Path:
    """Exports a model made by `with_text` to an ONNX file that takes token ids.

    The graph takes `token_ids`, `segment_ids` (int32) and `padding_mask` (bool),
    `(B, S)` each, and returns the outputs of the model on ids by name. It skips
    padding unless the model's encoder has `unpadding=False`. The file also carries
    the preprocessor and the labels, so `OnnxModel` takes strings.

    Args:
        model: A model made by `with_text`, or its `.keras` file, or the directory of
            a run of `finetune`.
        path: The file to write. It appears, or replaces an older one, only when
            complete.
        int8: Whether to quantize weight matrices and embeddings to 8 bits and
            multiply in 8 bits, with a scale per output channel. The activations'
            scales are computed at run time (dynamic quantization), one for all texts of
            a batch: a text's answer depends a little on the texts beside it. Batches of
            one text avoid that, as do the other forms in int8.

    Returns:
        `path`.

    Raises:
        ImportError: If `onnx`, `onnxscript` and `tf2onnx`, or for int8
            `onnxruntime`, are not installed.
        NotImplementedError: If the backend is not TensorFlow.
        TypeError: If the model was not made by `with_text`.
        FileNotFoundError: If there is no such file.
        ValueError: If its answers need more than `logits`, or it returns lists
            or tensors that are not float32.
    """
    check_installed("onnx", "onnxscript", "tf2onnx", extra="onnx")
    if int8:
        check_installed("onnxruntime", extra="onnx")
    model = load_text_model(model)
    metadata = file_metadata(model)
    path = Path(path)
    with replaced_file(path) as draft:
        file = draft.with_name("model.onnx")  # Keras requires this suffix
        _write(model, file)
        if int8:
            _quantize(file)
        _add_metadata(file, metadata)
        file.replace(draft)
    return path


def _write(model: TextModel, file: Path) -> None:
    import onnx

    from keras_bert_lite.serving.runtimes.onnx_graph import simplify
    from keras_bert_lite.serving.runtimes.onnx_weights import WithoutMatrices, put_in

    body = WithoutMatrices(model_on_ids(model))
    _convert(body, file)
    made = simplify(onnx.load(file))
    put_in(made, body.matrices)
    onnx.checker.check_model(made)
    onnx.save(made, file)


def _convert(body: Any, file: Path) -> None:
    with for_engine(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of the converter's own code
        body.export(
            file,
            format="onnx",
            input_signature=[{**id_specs(body.body), **body.specs()}],
            opset_version=OPSET,
            verbose=False,
        )


def _quantize(file: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    model = onnx.load(file)
    add_pre_process_metadata(model)  # or it logs advice, which is for other graphs
    quantize_dynamic(
        model,
        file,
        op_types_to_quantize=["MatMul", "Gather"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        reduce_range=True,  # or sums overflow on processors without VNNI
    )


def _add_metadata(file: Path, metadata: str) -> None:
    import onnx

    model = onnx.load(file)
    onnx.helper.set_model_props(model, {METADATA_KEY: metadata})
    onnx.save(model, file)
