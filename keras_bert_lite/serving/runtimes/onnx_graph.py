"""Rewrites of ONNX graphs for operators with fast kernels."""

from collections import defaultdict

import numpy as np
import onnx
from onnx import helper, numpy_helper


def simplify(model: onnx.ModelProto) -> None:
    """Fuses layer normalizations and rewrites GELUs, in place.

    Converters translate TensorFlow's ops one by one. A layer normalization in
    Keras's form becomes one `LayerNormalization`. `0.5 x (1 - erf(-x / sqrt 2))`
    becomes `0.5 x (1 + erf(x / sqrt 2))`, in the order that ONNX Runtime
    recognizes as GELU. All other nodes are kept.
    """
    graph = _Graph(model.graph)
    for node in list(model.graph.node):
        if node.op_type == "Reciprocal":
            graph.replace_normalization(node)
        elif node.op_type == "Erf":
            graph.replace_gelu(node)
    graph.write()


class _Graph:
    """A graph with its edges in both directions."""

    def __init__(self, proto: onnx.GraphProto) -> None:
        self.proto = proto
        self.constants = {x.name: x for x in proto.initializer}
        self.producer = {name: node for node in proto.node for name in node.output}
        self.consumers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
        for node in proto.node:
            for name in node.input:
                self.consumers[name].append(node)
        self.replacements: dict[str, list[onnx.NodeProto]] = {}

    def replace_normalization(self, node: onnx.NodeProto) -> None:
        """Matches `x r + (-mean r + beta)` around the reciprocal in `r`.

        Here `r = gamma / sqrt(variance + epsilon)`. The search goes up to `x` and
        down to the last sum.
        """
        chain = self._up(node, "Sqrt", "Add", "ReduceMean", "Mul", "Sub")
        scaled = self._down(node, "Mul")
        ends = self._scaled_sums(scaled)
        if chain is None or scaled is None or ends is None:
            return
        last, with_beta = ends
        vectors = [
            self._add_constant(f"{last.output[0]}_{name}", self._constant(x).ravel())
            for name, x in (("gamma", scaled), ("beta", with_beta))
        ]
        self.replacements[last.output[0]] = [
            helper.make_node(
                "LayerNormalization",
                [chain[-1].input[0], *vectors],
                last.output,
                epsilon=float(self._constant(chain[1])),
            )
        ]

    def _scaled_sums(
        self, scaled: onnx.NodeProto | None
    ) -> tuple[onnx.NodeProto, onnx.NodeProto] | None:
        """Returns the last sum of a layer normalization, and the sum with beta."""
        products = [] if scaled is None else self.consumers[scaled.output[0]]
        found = [self._down(product, "Add") for product in products]
        sums = [node for node in found if node is not None]
        with_beta = [node for node in sums if set(node.input) & set(self.constants)]
        if len(sums) != 2 or len(with_beta) != 1:
            return None
        return sums[1 - sums.index(with_beta[0])], with_beta[0]

    def replace_gelu(self, node: onnx.NodeProto) -> None:
        """Matches `(0.5 x) (1 - erf(-x c))` around erf, upwards and downwards."""
        chain = self._up(node, "Mul", "Neg")
        last = self._down(self._down(node, "Sub"), "Mul")
        if chain is None or last is None:
            return
        x, (output,) = chain[-1].input[0], last.output
        halves = [self.producer.get(name) for name in last.input]
        if not any(half is not None and x in half.input for half in halves):
            return
        root, one, half = (
            self._add_constant(f"{output}_{name}", np.array(value, np.float32))
            for name, value in (("root", 2**0.5), ("one", 1), ("half", 0.5))
        )
        parts = [f"{output}_{i}" for i in range(4)]
        self.replacements[output] = [
            helper.make_node("Div", [x, root], parts[:1]),
            helper.make_node("Erf", parts[:1], parts[1:2]),
            helper.make_node("Add", [parts[1], one], parts[2:3]),
            helper.make_node("Mul", [x, parts[2]], parts[3:]),
            helper.make_node("Mul", [parts[3], half], [output]),
        ]

    def write(self) -> None:
        """Inserts the replacements, and removes unused nodes and constants."""
        nodes: list[onnx.NodeProto] = []
        for node in self.proto.node:
            nodes += self.replacements.get(node.output[0], [node])
        used = {output.name for output in self.proto.output}
        kept = []
        for node in reversed(nodes):
            if used.intersection(node.output):
                kept.append(node)
                used.update(node.input)
        constants = [x for name, x in self.constants.items() if name in used]
        del self.proto.node[:], self.proto.initializer[:]
        self.proto.node.extend(reversed(kept))
        self.proto.initializer.extend(constants)

    def _up(self, node: onnx.NodeProto, *types: str) -> list[onnx.NodeProto] | None:
        """Returns the chain of producers with these types, or `None`.

        At each node it follows the first input that is not constant.
        """
        chain = []
        for op_type in types:
            names = [name for name in node.input if name in self.producer]
            if not names or self.producer[names[0]].op_type != op_type:
                return None
            node = self.producer[names[0]]
            chain.append(node)
        return chain

    def _down(self, node: onnx.NodeProto | None, op_type: str) -> onnx.NodeProto | None:
        """Returns the only consumer of a node's output, if it has this type."""
        users = [] if node is None else self.consumers[node.output[0]]
        return users[0] if len(users) == 1 and users[0].op_type == op_type else None

    def _constant(self, node: onnx.NodeProto) -> np.ndarray:
        name = next(name for name in node.input if name in self.constants)
        return numpy_helper.to_array(self.constants[name])

    def _add_constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = numpy_helper.from_array(value, name)
        return name
