"""What a SavedModel's graph tells that its variables do not.

The activation, the epsilon, the number of heads and that of layers which share
weights are no variables. The functions of the graph show them: as operations,
constants, static shapes and outputs.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

FILE = "saved_model.pb"
# An operation of a graph -> the activation that needs it. All need `Tanh` too
# where there is a pooler.
ACTIVATIONS = {
    "Erf": "gelu",
    "Erfc": "gelu",
    "Pow": "gelu_tanh",
    "Relu": "relu",
    "Sigmoid": "silu",
    **dict.fromkeys(("Elu", "LeakyRelu", "Relu6", "Selu", "Softplus", "Softsign")),
}
EPSILON = re.compile(r"norm(_\d+)?/add/y$")
ATTENTION = re.compile(r"attention(_\d+)?/(MatMul|Softmax)")


class SavedGraph:
    """The functions of a SavedModel.

    Args:
        directory: Of the SavedModel.

    Raises:
        ValueError: If `saved_model.pb` cannot be read.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        try:
            saved = saved_model_pb2.SavedModel.FromString(self.path.read_bytes())
            self._graph = saved.meta_graphs[0]
        except (OSError, DecodeError, IndexError) as error:
            raise ValueError(
                f"{self.path} cannot be read as a SavedModel: {error}"
            ) from error
        self._nodes = list(self._all_nodes())

    def activation(self, default: str) -> str:
        """Returns the activation, or the default where nothing is computed.

        Raises:
            ValueError: If there are several, or one that this package lacks.
        """
        operations = {node.op for node in self._nodes}
        found = {ACTIVATIONS[name] for name in operations & set(ACTIVATIONS)}
        if None in found:
            raise ValueError(
                f"{self.path}: the activation must be one of "
                f"{sorted(filter(None, ACTIVATIONS.values()))}. Received a graph with "
                f"the operations {sorted(operations & set(ACTIVATIONS))}"
            )
        default = "tanh" if "Tanh" in operations else default
        return self._only("activation", found, default)

    def epsilon(self, default: float) -> float:
        """Returns what layer normalization adds to the variance.

        Raises:
            ValueError: If layers differ in it.
        """
        found = set()
        for node in self._nodes:
            if node.op == "FusedBatchNormV3":
                found.add(node.attr["epsilon"].f)
            elif node.op == "Const" and EPSILON.search(node.name):
                found.add(float(tf.make_ndarray(node.attr["value"].tensor)))
        # As it was written: 1e-12 is not a float32.
        return self._only("epsilon", {float(f"{x:.6g}") for x in found}, default)

    def num_heads(self) -> int | None:
        """Returns the second axis of attention's scores, (B, N, S, S), if known.

        Raises:
            ValueError: If layers differ in it.
        """
        found = set()
        for node in self._nodes:
            if ATTENTION.search(node.name) and "_output_shapes" in node.attr:
                for shape in node.attr["_output_shapes"].list.shape:
                    if len(shape.dim) == 4 and shape.dim[1].size > 0:
                        found.add(shape.dim[1].size)
        return self._only("number of heads", found, None)

    def num_layers(self) -> int | None:
        """Returns how many `encoder_outputs` functions have, if any has.

        Raises:
            ValueError: If functions differ in it.
        """
        functions = self._graph.object_graph_def.concrete_functions.values()
        found = {n for f in functions for n in _encoder_outputs(f.output_signature)}
        return self._only("number of layers", found, None)

    def checks_padding_ids(self) -> bool:
        """Whether positions depend on which ids are padding, as in RoBERTa."""
        return any(
            node.op == "NotEqual" and "embeddings" in node.name for node in self._nodes
        )

    def _all_nodes(self) -> Iterator[Any]:
        yield from self._graph.graph_def.node
        for function in self._graph.graph_def.library.function:
            yield from function.node_def

    def _only(self, what: str, found: set, default: Any) -> Any:
        if len(found) > 1:
            raise ValueError(
                f"{self.path} must have one {what}. Received: {sorted(found)}"
            )
        return found.pop() if found else default


def _encoder_outputs(signature: Any) -> Iterator[int]:
    kind = signature.WhichOneof("kind")
    if kind == "dict_value":
        fields = signature.dict_value.fields
        if "encoder_outputs" in fields:
            yield len(fields["encoder_outputs"].list_value.values)
        for value in fields.values():
            yield from _encoder_outputs(value)
    elif kind in ("list_value", "tuple_value"):
        for value in getattr(signature, kind).values:
            yield from _encoder_outputs(value)
