"""The public names: what the modules' `__all__` list."""

import dataclasses
import inspect
from types import ModuleType
from typing import Any

import keras_bert_lite

ALIAS = "kbl"


@dataclasses.dataclass(frozen=True)
class Name:
    """A public function or class, or a module.

    Args:
        path: How a user writes it: `kbl.data.read_csv`. The shortest, if there are
            several.
        value: What it is.
    """

    path: str
    value: Any

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        doc = inspect.getdoc(self.value) or ""
        return doc.split("\n\n")[0].replace("\n", " ")


def modules() -> dict[str, ModuleType]:
    """Returns the public modules by path; the package is the first."""
    found = {ALIAS: keras_bert_lite}
    waiting = [ALIAS]
    while waiting:
        path = waiting.pop(0)
        for name, value in _listed(found[path]).items():
            if inspect.ismodule(value):
                found[f"{path}.{name}"] = value
                waiting.append(f"{path}.{name}")
    return found


def members(module: ModuleType) -> dict[str, Any]:
    """Returns the public functions and classes of a module."""
    return {
        name: value
        for name, value in _listed(module).items()
        if inspect.isroutine(value) or inspect.isclass(value)
    }


def names() -> dict[str, Name]:
    """Returns all functions and classes by each of their paths."""
    first: dict[int, Name] = {}
    found = {}
    for path, module in modules().items():
        for name, value in members(module).items():
            full = f"{path}.{name}"
            found[full] = first.setdefault(id(value), Name(full, value))
    return found


def _listed(module: ModuleType) -> dict[str, Any]:
    return {x: getattr(module, x) for x in module.__all__ if x[0] != "_"}
