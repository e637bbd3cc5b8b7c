"""ONNX Runtime on what torch exports."""

from benchmarks.inference.models import config
from benchmarks.inference.sides.base import Side
from benchmarks.inference.sides.torch_graphs import (
    INPUTS,
    ids_of,
    tokenizer_of,
    traced_model,
)
from benchmarks.inference.worker import THREADS


class OnnxRuntime(Side):
    """Two files, whichever is faster: torch's, which ONNX Runtime optimizes when
    it loads it, and that after the fusions of `onnxruntime.transformers`.

    Tokenized by Hugging Face's tokenizers.

    Args:
        int8: Whether both are quantized, dynamically and per channel.
    """

    CALLS = ("from_torch", "fused")

    def __init__(self, model, folder, int8=False):
        super().__init__(model, folder)
        self.int8 = int8

    def prepare(self):
        paths = {name: self.folder / f"{name}.onnx" for name in self.CALLS}
        _export(self.model, paths["from_torch"])
        _fuse(self.model, paths["from_torch"], paths["fused"])
        if self.int8:
            for path in paths.values():
                _quantize(path)

    def load(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        )
        self._sessions = {
            name: onnxruntime.InferenceSession(
                self.folder / f"{name}.onnx",
                options,
                providers=["CPUExecutionProvider"],
            )
            for name in self.CALLS
        }
        self._tokenizer = tokenizer_of(self.model)

    def from_torch(self, texts):
        return self._run(self._sessions["from_torch"], texts)

    def fused(self, texts):
        return self._run(self._sessions["fused"], texts)

    def _run(self, session, texts):
        values = ids_of(self._tokenizer, texts)
        return session.run(None, dict(zip(INPUTS, values, strict=True)))[0]


def _export(model, path):
    import torch

    # The fusions know this form of attention.
    traced, example = traced_model(model, "eager")
    torch.onnx.export(
        traced,
        example,
        path,
        input_names=list(INPUTS),
        output_names=["vectors"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in INPUTS}
        | {"vectors": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


def _fuse(model, source, target):
    from onnxruntime.transformers import optimizer

    raw = config(model)
    fused = optimizer.optimize_model(
        str(source),
        model_type="bert",
        num_heads=raw["num_attention_heads"],
        hidden_size=raw["hidden_size"],
        opt_level=0,
    )
    fused.save_model_to_file(str(target))


def _quantize(path):
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        path,
        path,
        per_channel=True,
        weight_type=QuantType.QInt8,
        # Shapes and types of fused operations cannot be inferred.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )
