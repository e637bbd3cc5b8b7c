"""The page on the forms of a model, from the results of two benchmarks."""

from statistics import median
from typing import Any

from benchmarks import forms_on_cores
from benchmarks.inference.harness import ratios
from benchmarks.inference.sides import OURS

Data = dict[str, Any]
BATCHES = (1, 8, 32)
TIMES = """# The forms of a model

MiniLM's sentence encoder, strings in, SST-2's texts. What to choose:
[Serving](../guide/serving.md#which-form-to-choose); the cosines of texts in other
languages: [the vectors](compute_types.md).

Time / the float32 SavedModel's in the same run, below 1 where the form is faster:
"""
CORES = """## One core and two

Each form in a process of its own, which may use so many cores: the seconds from loading
to the first vector (a SavedModel's in TensorFlow's C++ runtime too, from the start of
the process to its end); the most memory, with what is imported; milliseconds a batch.
"""


def page(engines: Data, cores: Data) -> str:
    """Returns the page; forms that no file has times of are not on it."""
    head = ["", *(f"batch {x}" for x in BATCHES), "least cosine to transformers'"]
    parts = [
        TIMES,
        _table(head, _engines(engines)),
        _made_on(engines, "inference"),
        CORES,
        forms_on_cores.markdown(cores),
        _made_on(cores, "forms_on_cores"),
    ]
    return "\n\n".join(x.strip() for x in parts) + "\n"


def _engines(engines: Data) -> list[list[str]]:
    records = {
        x["batch"]: x
        for x in engines["workloads"]
        if (x["model"], x["corpus"]) == ("minilm", "sst2")
    }
    found = []
    for side, title in forms_on_cores.TITLES.items():
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
    values = ratios(record["rounds"], side, OURS) if record else []
    return f"{median(values):.2f}" if values else ""


def _made_on(data: Data, name: str) -> str:
    about = data["environment"]
    return (
        f"{about['processor']}, {about['cores']} cores, {about['date']}: "
        f"[all values]({name}.md)."
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
