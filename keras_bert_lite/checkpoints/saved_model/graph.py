"""Reading from a SavedModel's graph what its variables do not show.

These are the activation, the epsilon, the number of heads, and the number of layers
that share weights. They appear in the functions of the graph as operations,
constants, static shapes and outputs.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from keras_bert_lite._tensorflow import saved_model_pb2, tf

FILE = "saved_model.pb"
# Operation in the graph -> the activation that uses it. `Tanh` is only a fallback:
# poolers and the approximate GELU use it too.
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
        directory: The directory of the SavedModel.

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
        """Returns the activation, or the default if the graph shows none.

        Raises:
            ValueError: If there are several, or one that is not supported.
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
        """Returns the epsilon of layer normalization.

        Raises:
            ValueError: If it differs between layers.
        """
        found = set()
        for node in self._nodes:
            if node.op == "FusedBatchNormV3":
                found.add(node.attr["epsilon"].f)
            elif node.op == "Const" and EPSILON.search(node.name):
                found.add(float(tf.make_ndarray(node.attr["value"].tensor)))
        # Round to the literal in the source: 1e-12 is not exact in float32.
        return self._only("epsilon", {float(f"{x:.6g}") for x in found}, default)

    def num_heads(self) -> int | None:
        """Returns N from the shape of the attention scores, (B, N, S, S), if known.

        Raises:
            ValueError: If it differs between layers.
        """
        found = set()
        for node in self._nodes:
            if ATTENTION.search(node.name) and "_output_shapes" in node.attr:
                for shape in node.attr["_output_shapes"].list.shape:
                    if len(shape.dim) == 4 and shape.dim[1].size > 0:
                        found.add(shape.dim[1].size)
        return self._only("number of heads", found, None)

    def num_layers(self) -> int | None:
        """Returns the number of `encoder_outputs`, if a function has this output.

        Raises:
            ValueError: If it differs between functions.
        """
        functions = self._graph.object_graph_def.concrete_functions.values()
        found = {n for f in functions for n in _encoder_outputs(f.output_signature)}
        return self._only("number of layers", found, None)

    def checks_padding_ids(self) -> bool:
        """Returns whether positions depend on padding ids, as in RoBERTa."""
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
