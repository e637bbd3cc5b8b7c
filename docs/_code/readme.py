"""The README's table of speed, made from the results of `benchmarks.inference`.

python -m docs._code.readme
"""

from statistics import median
from typing import Any

from benchmarks.inference.harness import ratios
from benchmarks.inference.sides import ONE_THREAD, OURS
from benchmarks.inference.tables import table
from docs._code import ROOT
from docs._code.api import replace
from docs._code.results import RESULTS, read

README = ROOT / "README.md"
BEGIN, END = "<!-- made by docs/_code/readme.py -->", "<!-- made so far -->"
BATCHES = (1, 8, 32)
SIDES = {
    f"{OURS} int8": "this package's SavedModel in int8",
    ONE_THREAD: "the same, one thread an operation",
    f"{OURS} onnx int8": "this package's ONNX file in int8",
    f"{OURS} openvino bf16": "this package's OpenVINO files in bfloat16",
    "keras_hub 512": "KerasHub, 512 tokens (its default)",
    "keras_hub 128": "KerasHub, 128 tokens",
    "zeromodels": "ZeroModels",
    "transformers": "transformers",
    "sentence_transformers": "sentence-transformers",
    "onnxruntime fp32": "ONNX Runtime",
    "openvino fp32": "OpenVINO",
    "openvino bf16": "OpenVINO, bfloat16",
    "ctranslate2 fp32": "CTranslate2",
    "onnxruntime int8": "ONNX Runtime, int8",
    "openvino int8": "OpenVINO, int8",
    "ctranslate2 int8": "CTranslate2, int8",
}


def main() -> None:
    replace(README, page(README.read_text(encoding="utf-8")))


def page(text: str) -> str:
    """Returns the text of the README with the table of the results."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = speed(read(RESULTS / "inference.json"))
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"


def speed(results: dict[str, Any]) -> str:
    """Returns each side's time by the float32 SavedModel's, for SST-2 and MiniLM."""
    records = {
        x["batch"]: x["rounds"]
        for x in results["workloads"]
        if (x["model"], x["corpus"]) == ("minilm", "sst2")
    }
    rows = []
    for side, title in SIDES.items():
        found = [ratios(records.get(size, []), side, OURS) for size in BATCHES]
        if any(found):
            rows.append([title, *(f"{median(x):.2f}" if x else "" for x in found)])
    return table(["", *(f"batch {size}" for size in BATCHES)], rows)


if __name__ == "__main__":
    main()
