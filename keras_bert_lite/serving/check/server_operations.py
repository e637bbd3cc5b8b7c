"""Operations available in each version of stock TF Serving."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from importlib import resources

from keras_bert_lite._tensorflow import (
    attr_value_pb2,
    graph_pb2,
    node_def_pb2,
    types_pb2,
)

# Servers ignore unknown attributes and log an error. These do not affect answers:
# a name for debugging and hints for gradients.
HARMLESS = frozenset(
    {"VarHandleOp.debug_name", "MatMul.grad_a", "MatMul.grad_b"}
    | {f"BatchMatMul{v}.grad_{x}" for v in ("", "V2", "V3") for x in "xy"}
)


@functools.cache
def _facts() -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Reads the table written by tests/golden/make_server_ops.py.

    Returns:
        The attributes of every operation that any server has, and for every
        version the missing entries: `Op`, `Op.attribute`, or
        `Op.attribute:TYPE` if no CPU kernel supports that type.
    """
    file = resources.files(__package__) / "server_ops.json"
    table = json.loads(file.read_text())
    operations = {k: frozenset(v.split()) for k, v in table["operations"].items()}
    return operations, {k: frozenset(v) for k, v in table["missing"].items()}


def versions() -> tuple[str, ...]:
    """Returns the known TF Serving versions, oldest first."""
    return tuple(_facts()[1])


def operations(graph: graph_pb2.GraphDef) -> tuple[str, ...]:
    """Returns the operations of a graph and its functions, sorted by name."""
    functions = {function.signature.name for function in graph.library.function}
    return tuple(sorted({node.op for node in _nodes(graph)} - functions))


def lacking(graph: graph_pb2.GraphDef) -> dict[str, tuple[str, ...]]:
    """Returns the parts of a graph that each server version does not support.

    A server ignores unknown attributes, so a model may load and give other answers.
    Unknown attributes are therefore reported unless they are harmless.
    `tf.saved_model.save` omits attributes with default values. Those that begin
    with `_` are hints that every version accepts.

    Args:
        graph: A SavedModel's graph.

    Returns:
        Unsupported entries by version, as `Op`, `Op.attribute` or
        `Op.attribute:TYPE`; empty for a version that supports the whole graph.
    """
    known, missing = _facts()
    functions = {function.signature.name for function in graph.library.function}
    wanted: set[str] = set()
    for node in _nodes(graph):
        if node.op not in functions:
            wanted.update(_entries(node))
    # Entries in no server are not in the tables of missing entries either.
    nowhere = {entry for entry in wanted if not _is_known(entry, known)}
    return {
        version: tuple(sorted(_outermost(nowhere | (wanted & gaps))))
        for version, gaps in missing.items()
    }


def compiled_functions(graph: graph_pb2.GraphDef) -> tuple[str, ...]:
    """Returns the names of functions and calls that must be compiled by XLA."""
    functions = {f.signature.name: f.attr for f in graph.library.function}
    calls = {node.name: node.attr for node in _nodes(graph)}
    return tuple(
        sorted(
            name
            for name, attributes in {**calls, **functions}.items()
            if "_XlaMustCompile" in attributes and attributes["_XlaMustCompile"].b
        )
    )


def advice(entry: str) -> str:
    """Returns advice about an entry that no server supports."""
    if "PyFunc" in entry:
        return "It calls Python, which servers do not have: use TensorFlow operations."
    if entry.startswith(("Xla", "_Xla")):
        return "It needs XLA: export under the TensorFlow backend, without jit_compile."
    if ":" in entry:
        return "No CPU kernel takes that type: use float32 or another type."
    return "Avoid it, or build a server that links it."


def _nodes(graph: graph_pb2.GraphDef) -> Iterator[node_def_pb2.NodeDef]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _entries(node: node_def_pb2.NodeDef) -> Iterator[str]:
    yield node.op
    for name, value in node.attr.items():
        if not name.startswith("_") and f"{node.op}.{name}" not in HARMLESS:
            yield f"{node.op}.{name}"
            yield from (f"{node.op}.{name}:{t}" for t in _types(value))


def _types(value: attr_value_pb2.AttrValue) -> list[str]:
    # Types above 100 are references to the type with 100 subtracted.
    numbers = [value.type, *value.list.type]
    return [types_pb2.DataType.Name(n % 100)[3:] for n in numbers if n % 100]


def _is_known(entry: str, known: dict[str, frozenset[str]]) -> bool:
    name, _, attribute = entry.partition(".")
    attribute = attribute.partition(":")[0]
    return name in known and (not attribute or attribute in known[name])


def _outermost(entries: set[str]) -> set[str]:
    """Drops the attributes of operations that are missing altogether."""
    return {
        entry
        for entry in entries
        if not entries & ({entry.split(".")[0], entry.split(":")[0]} - {entry})
    }
