"""Detection of operations with side effects: files, printing, network calls.

A served model should only use its inputs, weights and assets. Whatever it contains
runs with the rights of the process that loads it, a server or a check. Stock servers
support all operations listed here.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from keras_bert_lite._tensorflow import meta_graph_pb2, node_def_pb2

READS = "reads files that are not assets of the SavedModel"
WRITES = "writes files"
PRINTS = "prints its inputs to the server's log or a file"
CALLS = "calls other machines"
SETS = "changes the configuration of file systems"
ENDS = "ends the server"

# Indices of the inputs that are file names; paths of assets are allowed there.
NAMED = {
    "CSVDataset": (0,),
    "CSVDatasetV2": (0,),
    "FixedLengthRecordDataset": (0,),
    "FixedLengthRecordDatasetV2": (0,),
    "GenerateVocabRemapping": (0, 1),
    "InitializeTableFromTextFile": (1,),
    "InitializeTableFromTextFileV2": (1,),
    "LMDBDataset": (0,),
    "LoadAndRemapMatrix": (0,),
    "ReadFile": (0,),
    "TFRecordDataset": (0,),
    "TFRecordDatasetV2": (0,),
    "TextLineDataset": (0,),
}
CHECKPOINTS = {  # allowed only in the saver
    **dict.fromkeys(("Restore", "RestoreSlice", "RestoreV2"), READS),
    **dict.fromkeys(("Save", "SaveSlices", "SaveV2", "MergeV2Checkpoints"), WRITES),
}
_OTHERS = {
    READS: """
        ExperimentalCSVDataset ExperimentalLMDBDataset ExperimentalMatchingFilesDataset
        ExperimentalSqlDataset FixedLengthRecordReader FixedLengthRecordReaderV2
        ImmutableConst LMDBReader ListSnapshotChunksDataset LoadDataset MatchingFiles
        MatchingFilesDataset RecordInput Skipgram SnapshotChunkDataset
        SnapshotDatasetReader SnapshotNestedDatasetReader SqlDataset TFRecordReader
        TFRecordReaderV2 TextLineReader TextLineReaderV2 WholeFileReader
        WholeFileReaderV2
    """,
    WRITES: """
        CalibrationStatisticsSaver CreateSummaryDbWriter CreateSummaryFileWriter
        DatasetToTFRecord DistributedSave DumpTensor ExperimentalDatasetToTFRecord
        SaveDataset SaveDatasetV2 SnapshotDataset SnapshotDatasetV2 WriteFile
    """,
    PRINTS: """
        DebugIdentity DebugIdentityV2 DebugIdentityV3 DebugNanCount DebugNumericSummary
        Print PrintV2
    """,
    CALLS: """
        DataServiceDataset DataServiceDatasetV2 DataServiceDatasetV3
        DataServiceDatasetV4 RegisterDataset RegisterDatasetV2 RpcClient RpcServer
    """,
    SETS: "FileSystemSetConfiguration",
    ENDS: "Abort",
}
EFFECTS = {
    **{name: effect for effect, names in _OTHERS.items() for name in names.split()},
    **dict.fromkeys(NAMED, READS),
    **CHECKPOINTS,
}
# Operations that read files depending on an attribute, and its harmless values.
BY_ATTRIBUTE = {
    "FixedUnigramCandidateSampler": ("vocab_file", ("",)),
    "DecodeProtoV2": ("descriptor_source", ("", "local://", "bytes://")),
    "EncodeProto": ("descriptor_source", ("", "local://", "bytes://")),
}
CACHES = {"CacheDataset": 1, "CacheDatasetV2": 1}  # in memory if the name is empty
# Function calls, with the index of the input that is the function's first argument.
FIRST = {
    **dict.fromkeys(("StatefulPartitionedCall", "PartitionedCall"), 0),
    **dict.fromkeys(("If", "StatelessIf", "Case", "StatelessCase"), 1),
}
VARIABLE_OPS = {"AssignVariableOp", "ReadVariableOp", "VarIsInitializedOp"}
GRAPH = ""  # the scope of the graph itself; other scopes are function names

Nodes: TypeAlias = "dict[str, node_def_pb2.NodeDef]"
Place = tuple[str, int]  # a node of the graph and the index of its output
Test: TypeAlias = "Callable[[Place | None, node_def_pb2.NodeDef], bool]"


def file_problems(meta_graph: meta_graph_pb2.MetaGraphDef) -> list[str]:
    """Describes the operations with side effects, one sentence each.

    Functions and initializers are checked too. Reading tables from assets, and saving
    and restoring weights, are normal in a SavedModel and not reported.
    """
    graph = _Graph(meta_graph)
    found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    for scope, node in graph.all_nodes():
        effect = _effect(graph, scope, node)
        if effect:
            found[node.op, effect].append(scope)
    return [
        f"{op} {effect} (in {_listed(scopes)}). Remove it from the exported model."
        for (op, effect), scopes in sorted(found.items())
    ]


def _effect(graph: _Graph, scope: str, node: node_def_pb2.NodeDef) -> str | None:
    if node.op in CHECKPOINTS and graph.belongs_to_saver(scope, node):
        return None
    if node.op in NAMED:
        names = [_input(node, number) for number in NAMED[node.op]]
        return None if all(graph.is_asset(scope, x) for x in names) else READS
    if node.op in CACHES:
        name = _input(node, CACHES[node.op])
        return None if graph.is_empty(scope, name) else WRITES
    if node.op in BY_ATTRIBUTE:
        attribute, harmless = BY_ATTRIBUTE[node.op]
        value = node.attr[attribute].s.decode(errors="replace")
        in_memory = value in harmless or value.startswith("bytes://")
        return None if in_memory else READS
    return EFFECTS.get(node.op)


def _listed(scopes: Iterable[str]) -> str:
    names = sorted(set(scopes))
    shown = [x or "the graph" for x in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if names[3:] else "")


class _Graph:
    """A graph and its functions, with their callers and inputs."""

    def __init__(self, meta_graph: meta_graph_pb2.MetaGraphDef) -> None:
        graph = meta_graph.graph_def
        self.nodes: dict[str, Nodes] = {GRAPH: {x.name: x for x in graph.node}}
        self.arguments: dict[str, list[str]] = {}
        for function in graph.library.function:
            name = function.signature.name
            self.nodes[name] = {x.name: x for x in function.node_def}
            self.arguments[name] = [x.name for x in function.signature.input_arg]
        self.assets = {
            _place(asset.tensor_info.name) for asset in meta_graph.asset_file_def
        }
        self.callers: dict[str, list[tuple[str, node_def_pb2.NodeDef]]] = (
            collections.defaultdict(list)
        )
        for scope, node in self.all_nodes():
            for name in self._called(node):
                self.callers[name].append((scope, node))
        self._saver = self._nodes_of_saver(meta_graph)
        other = [x for x in self.nodes[GRAPH].values() if x.name not in self._saver]
        reached = self._reached(other)
        saving = [self.nodes[GRAPH][name] for name in self._saver]
        self._saver_functions = self._reached(saving) - reached

    def all_nodes(self) -> Iterator[tuple[str, node_def_pb2.NodeDef]]:
        for scope, nodes in self.nodes.items():
            for node in nodes.values():
                yield scope, node

    def belongs_to_saver(self, scope: str, node: node_def_pb2.NodeDef) -> bool:
        """Returns whether a node runs only to save or restore weights."""
        if scope == GRAPH:
            return node.name in self._saver
        return scope in self._saver_functions

    def is_asset(self, scope: str, tensor: str) -> bool:
        """Returns whether a tensor is the path of one of the SavedModel's assets."""
        return self._always(
            scope, tensor, lambda source, _: source in self.assets, frozenset()
        )

    def is_empty(self, scope: str, tensor: str) -> bool:
        """Returns whether a tensor is the empty string."""
        return self._always(scope, tensor, lambda _, node: _is_empty(node), frozenset())

    def _always(self, scope: str, tensor: str, test: Test, seen: frozenset) -> bool:
        """Returns whether the source of a tensor passes a test in every call."""
        name = _name(tensor)
        if (scope, name) in seen:  # a function that calls itself
            return False
        seen = seen | {(scope, name)}
        if scope != GRAPH and name in self.arguments[scope]:
            number = self.arguments[scope].index(name)
            calls = self.callers[scope]
            return bool(calls) and all(
                node.op in FIRST
                and self._always(
                    where, _input(node, number + FIRST[node.op]), test, seen
                )
                for where, node in calls
            )
        node = self.nodes[scope].get(name)
        if node is None:
            return False
        if node.op == "Identity":
            return self._always(scope, _input(node, 0), test, seen)
        if node.op == "ReadVariableOp" and scope == GRAPH:
            values = self._assigned(_name(_input(node, 0)))
            return bool(values) and all(
                self._always(GRAPH, value, test, seen) for value in values
            )
        return test(_place(tensor) if scope == GRAPH else None, node)

    def _assigned(self, variable: str) -> list[str]:
        """Returns the tensors assigned to a variable; none if they are unknown.

        TensorFlow keeps the paths of assets in variables.
        """
        users = [
            node
            for node in self.nodes[GRAPH].values()
            if variable in map(_name, _inputs(node))
        ]
        if not {node.op for node in users} <= VARIABLE_OPS:
            return []
        return [_input(x, 1) for x in users if x.op == "AssignVariableOp"]

    def _nodes_of_saver(self, meta_graph: meta_graph_pb2.MetaGraphDef) -> set[str]:
        """Returns the nodes of the graph used only for saving and restoring."""
        saver = meta_graph.saver_def
        wanted = self._ancestors([saver.save_tensor_name, saver.restore_op_name])
        outputs = [
            info.name
            for signature in meta_graph.signature_def.values()
            for info in signature.outputs.values()
        ]
        others = [name for name in self.nodes[GRAPH] if name not in wanted]
        return wanted - self._ancestors([*outputs, *others])

    def _ancestors(self, tensors: Iterable[str]) -> set[str]:
        nodes, found = self.nodes[GRAPH], set()
        waiting = [_name(tensor) for tensor in tensors]
        while waiting:
            name = waiting.pop()
            if name in nodes and name not in found:
                found.add(name)
                waiting += [_name(x) for x in nodes[name].input]
        return found

    def _reached(self, nodes: Iterable[node_def_pb2.NodeDef]) -> set[str]:
        """Returns the functions that nodes call, directly or indirectly."""
        found: set[str] = set()
        waiting = [name for node in nodes for name in self._called(node)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                inside = self.nodes[name].values()
                waiting += [x for node in inside for x in self._called(node)]
        return found

    def _called(self, node: node_def_pb2.NodeDef) -> list[str]:
        names = [node.op]
        for value in node.attr.values():
            names += [f.name for f in (value.func, *value.list.func)]
        return [name for name in names if name and name in self.nodes]


def _inputs(node: node_def_pb2.NodeDef) -> list[str]:
    return [x for x in node.input if not x.startswith("^")]


def _input(node: node_def_pb2.NodeDef, number: int) -> str:
    """Returns an input of a node by index; `""` if the graph is broken."""
    return next(iter(_inputs(node)[number : number + 1]), "")


def _name(tensor: str) -> str:
    """Returns the name of a tensor's node: `a` for `a:0`, `a:output:0` or `^a`."""
    return tensor.removeprefix("^").split(":")[0]


def _place(tensor: str) -> Place:
    name, _, number = tensor.partition(":")
    return name, int(number) if number.isdigit() else 0


def _is_empty(node: node_def_pb2.NodeDef) -> bool:
    tensor = node.attr["value"].tensor
    return node.op == "Const" and list(tensor.string_val) == [b""]
