"""The sides by name: where their class is, and its options."""

import importlib
import subprocess
import sys
from pathlib import Path

from benchmarks.inference.sides.base import Side

ROOT = Path(__file__).parents[3]
OURS = "keras_bert_lite"
ONE_THREAD = f"{OURS} int8, intra_op_threads=1"
LIMIT = "matrix products"
SIDES = {
    OURS: ("ours", "SavedModel", {}),
    f"{OURS} padded": ("ours", "SavedModel", {"unpadding": False}),
    f"{OURS} int8": ("ours", "SavedModel", {"int8": True}),
    ONE_THREAD: ("ours", "SavedModel", {"int8": True, "intra_op_threads": 1}),
    f"{OURS} bf16": ("ours", "SavedModel", {"compute": "bfloat16"}),
    f"{OURS} onnx fp32": ("ours", "Onnx", {"int8": False}),
    f"{OURS} onnx int8": ("ours", "Onnx", {"int8": True}),
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
    "openvino int8": ("openvino_sides", "OpenVino", {"precision": "i8"}),
    "ctranslate2 fp32": ("ctranslate2_sides", "CTranslate2", {"compute": "float32"}),
    "ctranslate2 int8": ("ctranslate2_sides", "CTranslate2", {"compute": "int8"}),
    "fastembed": ("fastembed_side", "FastEmbed", {}),
    "zeromodels": ("zeromodels_side", "ZeroModels", {}),
    LIMIT: ("limit", "MatrixProducts", {}),
}
# Sides whose packages do not go with the others': their environments, by the Makefile.
ENVIRONMENTS = {
    "ctranslate2 fp32": ".venv-ctranslate2",
    "ctranslate2 int8": ".venv-ctranslate2",
    "fastembed": ".venv-fastembed",
    "zeromodels": ".venv-zeromodels",
}
PREPARED_HERE = ("fastembed",)  # by torch, which is not in its environment
# Sides that cut texts at this many tokens; they sit out where texts are longer.
CUTS_AT = {"keras_hub 128": 128, "keras_hub 512": 512}
# Sides with a call for texts that are there all at once, which sorts them; and
# transformers, which takes them in their order.
OFFLINE = (
    OURS,
    f"{OURS} openvino fp32",
    f"{OURS} openvino bf16",
    "sentence_transformers",
    "transformers",
)


def python_of(name: str, command: str) -> str:
    """Returns the interpreter that a side prepares its files with, or runs in."""
    if name not in ENVIRONMENTS or (command == "prepare" and name in PREPARED_HERE):
        return sys.executable
    return str(ROOT / ENVIRONMENTS[name] / "bin" / "python")


def peers() -> dict[str, str]:
    """Returns the versions of the packages that have environments of their own."""
    code = "import sys; from importlib import metadata; "
    code += "print(metadata.version(sys.argv[1]))"
    found = {}
    for name, folder in ENVIRONMENTS.items():
        python, package = python_of(name, "load"), folder.removeprefix(".venv-")
        if Path(python).exists():
            command = [python, "-c", code, package]
            found[package] = subprocess.check_output(command, text=True).strip()
    return found


def make(name: str, model: Path, folder: Path) -> Side:
    """Returns a side, neither prepared nor loaded."""
    module, cls, options = SIDES[name]
    module = importlib.import_module(f"benchmarks.inference.sides.{module}")
    return getattr(module, cls)(model, folder, **options)
