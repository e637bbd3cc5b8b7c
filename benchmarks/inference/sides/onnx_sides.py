"""ONNX Runtime on what torch exports."""

import numpy as np

from benchmarks.inference.models import LONGEST, config
from benchmarks.inference.sides.base import Side
from benchmarks.inference.worker import THREADS

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


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
        from tokenizers import Tokenizer

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
        self._tokenizer = Tokenizer.from_file(str(self.model / "tokenizer.json"))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()

    def from_torch(self, texts):
        return self._run(self._sessions["from_torch"], texts)

    def fused(self, texts):
        return self._run(self._sessions["fused"], texts)

    def _run(self, session, texts):
        rows = self._tokenizer.encode_batch(texts)
        feed = {
            "input_ids": np.array([row.ids for row in rows], "int64"),
            "attention_mask": np.array([row.attention_mask for row in rows], "int64"),
            "token_type_ids": np.array([row.type_ids for row in rows], "int64"),
        }
        return session.run(None, feed)[0]


def _export(model, path):
    import torch
    import transformers

    class Pooled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            # The fusions know this form of attention.
            self.bert = transformers.AutoModel.from_pretrained(
                model, attn_implementation="eager"
            )

        def forward(self, *values):
            inputs = dict(zip(INPUTS, values, strict=True))
            x = self.bert(**inputs).last_hidden_state
            real = inputs["attention_mask"][:, :, None].to(x.dtype)
            return (x * real).sum(1) / real.sum(1)

    example = tuple(torch.ones((2, 8), dtype=torch.int64) for _ in INPUTS)
    torch.onnx.export(
        Pooled().eval(),
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
