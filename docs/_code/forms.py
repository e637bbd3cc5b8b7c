"""The page on the forms of a model, from the results of two benchmarks."""

from statistics import median
from typing import Any

from benchmarks.inference.harness import ratios

Data = dict[str, Any]
BATCHES = (1, 8, 32)
BASE = "keras_bert_lite"
SAVED_MODELS = {
    "float32": "SavedModel, float32",
    "bfloat16": "SavedModel, `compute` and `storage` bfloat16",
    "int8": "SavedModel, int8",
}
# Sides of the inference benchmark that are forms of this package.
ENGINES = {
    f"{BASE} int8": "ONNX int8, `OnnxModel`",
    f"{BASE} openvino fp32": "OpenVINO float32, `OpenVinoModel`",
    f"{BASE} openvino bf16": "OpenVINO bfloat16, `OpenVinoModel`",
}
HEAD = """# The forms of a model

MiniLM's sentence encoder, strings in, SST-2's texts: time on the clock / the float32
SavedModel's in the same run, below 1 where the form is faster. Bytes and cosines to the
vectors in float32 (mean, least) where the benchmark takes them. What to choose:
[Serving](../guide/serving.md#which-form-to-choose).
"""


def page(compute: Data, engines: Data) -> str:
    """Returns the page; forms that no file has times of are not on it."""
    head = ["", *(f"batch {x}" for x in BATCHES), "MB", "cosine on STS-B"]
    parts = [
        HEAD,
        _made_on(compute, "compute_types"),
        _table(head, _saved_models(compute)),
        _made_on(engines, "inference"),
        _table(["", *head[1:4], "least cosine to transformers'"], _engines(engines)),
    ]
    return "\n\n".join(x.strip() for x in parts) + "\n"


def _saved_models(compute: Data) -> list[list[str]]:
    forms = compute["encoders"]["MiniLM"]
    return [
        [
            SAVED_MODELS[name],
            *(f"{x['time'][str(size)]['clock']:.2f}" for size in BATCHES),
            f"{x['megabytes']:.1f}",
            f"{x['STS-B']['mean']:.5f}, {x['STS-B']['least']:.5f}",
        ]
        for name, x in forms.items()
        if name in SAVED_MODELS
    ]


def _engines(engines: Data) -> list[list[str]]:
    records = {
        x["batch"]: x
        for x in engines["workloads"]
        if (x["model"], x["corpus"]) == ("minilm", "sst2")
    }
    found = []
    for side, title in ENGINES.items():
        if any(side in x["ways"] for x in records.values()):
            cells = [_ratio(records.get(size), side) for size in BATCHES]
            cosines = [
                x["agreement"][side]["cosine"]
                for x in records.values()
                if side in x["agreement"]
            ]
            found.append([title, *cells, f"{min(cosines):.4f}" if cosines else ""])
    return found


def _ratio(record: Data | None, side: str) -> str:
    values = ratios(record["rounds"], side, BASE) if record else []
    return f"{median(values):.2f}" if values else ""


def _made_on(data: Data, name: str) -> str:
    about = data["environment"]
    return (
        f"{about['processor']}, {about['cores']} cores, {about['date']} "
        f"([all values]({name}.md)):"
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
