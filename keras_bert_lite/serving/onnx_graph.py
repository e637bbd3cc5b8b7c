"""ONNX graphs rewritten with the operators that engines have fast kernels for."""

from collections import defaultdict

import numpy as np
import onnx
from onnx import helper, numpy_helper


def simplify(model: onnx.ModelProto) -> None:
    """Replaces the parts of a layer normalization or of GELU, in place.

    Converters write TensorFlow's ops one by one. A layer normalization in
    Keras's form becomes one `LayerNormalization`; `0.5 x (1 - erf(-x / sqrt 2))`
    becomes `0.5 x (1 + erf(x / sqrt 2))` in the order in which ONNX Runtime
    knows it as GELU. What looks otherwise stays as it is.
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
        """Matches `x r + (-mean r + beta)`, `r = gamma / sqrt(variance + epsilon)`,
        from the reciprocal on: up to `x`, and down to the last sum.
        """
        chain = self._up(node, "Sqrt", "Add", "ReduceMean", "Mul", "Sub")
        scaled = self._down(node, "Mul")
        if chain is None or scaled is None:
            return
        epsilon, gamma = self._constant_of(chain[1]), self._constant_of(scaled)
        products = self.consumers[scaled.output[0]]
        sums = [self._down(product, "Add") for product in products]
        with_beta = [x for x in sums if x is not None and self._constant_of(x)]
        if len(sums) != 2 or len(with_beta) != 1 or None in sums:
            return
        beta = self._constant_of(with_beta[0])
        last = sums[1 - sums.index(with_beta[0])]
        vectors = [self._vector(name, last.output[0]) for name in (gamma, beta)]
        self.replacements[last.output[0]] = [
            helper.make_node(
                "LayerNormalization",
                [chain[-1].input[0], *vectors],
                last.output,
                epsilon=float(self._value(epsilon)),
            )
        ]

    def replace_gelu(self, node: onnx.NodeProto) -> None:
        """Matches `(0.5 x) (1 - erf(-x c))` from erf on, up to `x` and down."""
        chain = self._up(node, "Mul", "Neg")
        last = self._down(self._down(node, "Sub"), "Mul")
        if chain is None or last is None:
            return
        x, (output,) = chain[-1].input[0], last.output
        root, one, half = (
            self._add_constant(f"{output}_{name}", np.float32(value))
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
        """Puts the replacements in, and leaves out what nothing uses any more."""
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
        """Follows the first input that is not constant, past nodes of `types`."""
        chain = []
        for op_type in types:
            names = [name for name in node.input if name in self.producer]
            if not names or self.producer[names[0]].op_type != op_type:
                return None
            node = self.producer[names[0]]
            chain.append(node)
        return chain

    def _down(self, node: onnx.NodeProto | None, op_type: str) -> onnx.NodeProto | None:
        """Returns the only node that uses this one's output, if of this type."""
        users = [] if node is None else self.consumers[node.output[0]]
        return users[0] if len(users) == 1 and users[0].op_type == op_type else None

    def _constant_of(self, node: onnx.NodeProto) -> str | None:
        return next((name for name in node.input if name in self.constants), None)

    def _value(self, name: str) -> np.ndarray:
        return numpy_helper.to_array(self.constants[name])

    def _vector(self, name: str, owner: str) -> str:
        return self._add_constant(f"{owner}_{name}", self._value(name).ravel())

    def _add_constant(self, name: str, value: np.ndarray) -> str:
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name
