"""Weights that stay out of an ONNX graph while it is made.

tf2onnx and its optimizers copy a graph, constants and all, some twenty times. So the
matrices are inputs of the graph until it is finished, and no copy holds them.
"""

from typing import Any

import keras
import numpy as np
import onnx
import tensorflow as tf


class WithoutMatrices(keras.Model):
    """A model whose matrices are inputs, beside its own.

    Args:
        body: A model on ids.

    Attributes:
        matrices: The variables by the names of the inputs that stand for them.
    """

    def __init__(self, body: keras.Model) -> None:
        super().__init__()
        self.body = body
        self.built = True
        self.matrices = {
            f"matrix_{i}": variable
            for i, variable in enumerate(body.variables)
            if len(variable.shape) > 1
        }

    def specs(self) -> dict[str, tf.TensorSpec]:
        """Returns what the inputs are, without those of the model itself."""
        return {
            name: tf.TensorSpec(x.shape, x.dtype, name)
            for name, x in self.matrices.items()
        }

    def call(self, inputs: dict[str, Any]) -> Any:
        values = [(x, inputs[name]) for name, x in self.matrices.items()]
        ids = {name: inputs[name] for name in self.body.input}
        with keras.StatelessScope(state_mapping=values):
            return self.body(ids, training=False)


def put_in(model: onnx.ModelProto, matrices: dict[str, keras.Variable]) -> None:
    """Makes inputs that stand for matrices constants of the graph."""
    graph = model.graph
    inputs = [x for x in graph.input if x.name not in matrices]
    del graph.input[:]
    graph.input.extend(inputs)
    used = {name for node in graph.node for name in node.input}
    graph.initializer.extend(
        onnx.numpy_helper.from_array(np.asarray(x.numpy()), name)
        for name, x in matrices.items()
        if name in used
    )
