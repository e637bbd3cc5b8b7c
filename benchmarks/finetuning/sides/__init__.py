"""The sides by name: where their class is, and the kinds of task that they have."""

import importlib
from typing import Any

from benchmarks.finetuning.sides.base import Side
from benchmarks.finetuning.tasks import Task

OURS, TRANSFORMERS, KERAS_HUB = "keras_bert_lite", "transformers", "keras_hub"
SIDES = {
    OURS: ("ours", "KerasBertLite", {"class", "number", "tags", "answer"}),
    TRANSFORMERS: ("torch_side", "Transformers", {"class", "number", "tags", "answer"}),
    KERAS_HUB: ("hub", "KerasHub", {"class", "number"}),
}


def sides_of(task: Task) -> list[str]:
    return [name for name, (_, _, kinds) in SIDES.items() if task.kind in kinds]


def make(name: str, *arguments: Any) -> Side:
    """Returns a side; only its libraries are imported."""
    module, cls, _ = SIDES[name]
    module = importlib.import_module(f"benchmarks.finetuning.sides.{module}")
    return getattr(module, cls)(*arguments)
