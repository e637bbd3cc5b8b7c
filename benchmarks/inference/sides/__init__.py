"""The sides by name: where their class is, and its options."""

import importlib
from pathlib import Path

from benchmarks.inference.sides.base import Side

OURS = "keras_bert_lite"
LIMIT = "matrix products"
SIDES = {
    OURS: ("ours", "SavedModel", {}),
    f"{OURS} padded": ("ours", "SavedModel", {"unpadding": False}),
    f"{OURS} int8": ("ours", "Int8", {}),
    f"{OURS} openvino fp32": ("ours", "OpenVino", {"compute": "float32"}),
    f"{OURS} openvino bf16": ("ours", "OpenVino", {"compute": "bfloat16"}),
    "keras_hub 128": ("hub", "KerasHub", {"sequence_length": 128}),
    "keras_hub 512": ("hub", "KerasHub", {"sequence_length": 512}),
    "sentence_transformers": ("torch_sides", "SentenceTransformers", {}),
    "transformers": ("torch_sides", "Transformers", {}),
    "onnxruntime fp32": ("onnx_sides", "OnnxRuntime", {}),
    "onnxruntime int8": ("onnx_sides", "OnnxRuntime", {"int8": True}),
    "openvino fp32": ("openvino_sides", "OpenVino", {"precision": "f32"}),
    "openvino bf16": ("openvino_sides", "OpenVino", {"precision": "bf16"}),
    LIMIT: ("limit", "MatrixProducts", {}),
}
# Sides that cut texts at this many tokens; they sit out where texts are longer.
CUTS_AT = {"keras_hub 128": 128}
# Sides with a call for texts that are there all at once, which sorts them; and
# transformers, which takes them in their order.
OFFLINE = (
    OURS,
    f"{OURS} openvino fp32",
    f"{OURS} openvino bf16",
    "sentence_transformers",
    "transformers",
)


def make(name: str, model: Path, folder: Path) -> Side:
    """Returns a side, neither prepared nor loaded."""
    module, cls, options = SIDES[name]
    module = importlib.import_module(f"benchmarks.inference.sides.{module}")
    return getattr(module, cls)(model, folder, **options)
