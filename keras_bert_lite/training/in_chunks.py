"""A model that trains on many rows in the memory of a few."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_positive

Tensors = dict[str, Any]
Outputs = tuple[Any, list[Any]]  # the output, and the states of dropout after it


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class InChunks(keras.Model):
    """Trains a model on chunks of a batch's rows, with the gradients of the batch.

    In training, the rows are read `chunk_size` at a time, and what a chunk computed is
    forgotten but for its output. For the gradients, each chunk is computed again, with
    the same dropout. A loss that compares all rows of a batch, such as one of in-batch
    negatives, then needs the activations of a chunk only. Outside training, all rows
    are read at once.

    Args:
        model: A model with one output, in a dictionary. It is trained, and shares its
            weights.
        chunk_size: The rows of a chunk.
        name: Name of the model.

    Call arguments:
        inputs: Those of `model`.
        training: Whether in training.

    Returns:
        The output of `model`.

    Raises:
        ValueError: If `chunk_size` is not a positive integer, or `model` has several
            outputs.

    Reference: [Gao et al., 2021](https://arxiv.org/abs/2101.06983), a gradient cache.
    """

    def __init__(
        self, model: keras.Model, chunk_size: int, name: str = "in_chunks"
    ) -> None:
        super().__init__(name=name)
        check_positive("chunk_size", chunk_size)
        if len(model.output) != 1:
            raise ValueError(
                f"`model` must have one output. Received: {sorted(model.output)}"
            )
        self.model, self.chunk_size = model, chunk_size
        (self.output_name,) = model.output

    def call(self, inputs, training=None):
        if not training:
            return self.model(inputs, training=False)
        variables = self.model.non_trainable_variables
        weights = [x.value for x in self.model.trainable_variables]
        # Copies: TensorFlow returns the variable itself, which will change.
        states = [ops.copy(x.value) for x in variables]
        ways = {"tensorflow": self._in_a_loop, "jax": self._in_a_scan}
        run = ways.get(keras.backend.backend(), self._one_by_one)
        outputs, states = run(inputs, weights, states)
        for variable, state in zip(variables, states, strict=True):
            variable.assign(state)
        return {self.output_name: outputs}

    def _of_chunk(self, chunk: Tensors, weights: list, states: list) -> Outputs:
        call = self.model.stateless_call
        outputs, states = call(weights, states, chunk, training=True)
        return outputs[self.output_name], states

    def _in_a_loop(self, inputs: Tensors, weights: list, states: list) -> Outputs:
        """Loops in TensorFlow's graph, and once more for the gradients."""
        size, spec = self.chunk_size, self.model.output[self.output_name]
        chunks = -(-tf.shape(next(iter(inputs.values())))[0] // size)

        def chunk(i: Any) -> Tensors:
            return {name: x[i * size : (i + 1) * size] for name, x in inputs.items()}

        def loop(body: Callable, *start: Any) -> Any:
            """Calls `body` for each chunk, with what it returned for the one before."""
            return tf.while_loop(
                lambda i, *_: i < chunks,
                lambda i, *values: (i + 1, *body(i, *values)),
                (0, *start),
                parallel_iterations=1,
            )[1:]

        @tf.custom_gradient
        def of_all(*weights):
            def forwards(i, states, outputs):
                output, states = self._of_chunk(chunk(i), list(weights), states)
                return states, outputs.write(i, output)

            outputs = tf.TensorArray(
                spec.dtype, chunks, infer_shape=False, element_shape=spec.shape
            )
            after, outputs = loop(forwards, states, outputs)

            def gradients(upstream, *_):
                def backwards(i, states, sums):
                    with tf.GradientTape() as tape:
                        tape.watch(weights)
                        output, states = self._of_chunk(chunk(i), list(weights), states)
                    above = upstream[i * size : (i + 1) * size]
                    added = tape.gradient(output, weights, above)
                    sums = [
                        x if y is None else x + tf.convert_to_tensor(y)
                        for x, y in zip(sums, added, strict=True)
                    ]
                    return states, sums

                return loop(backwards, states, [tf.zeros_like(x) for x in weights])[1]

            return (outputs.concat(), *after), gradients

        outputs, *after = of_all(*weights)
        return outputs, after

    def _in_a_scan(self, inputs: Tensors, weights: list, states: list) -> Outputs:
        """Scans chunks of one size, by JAX; the last may repeat the first rows."""
        import jax

        rows = next(iter(inputs.values())).shape[0]
        order = np.arange(-(-rows // self.chunk_size) * self.chunk_size) % rows
        chunks = {
            name: ops.reshape(x[order], (-1, self.chunk_size, *x.shape[1:]))
            for name, x in inputs.items()
        }

        def step(states, chunk):
            output, states = self._of_chunk(chunk, weights, states)
            return states, output

        states, output = jax.lax.scan(jax.checkpoint(step), states, chunks)
        return ops.reshape(output, (-1, *output.shape[2:]))[:rows], states

    def _one_by_one(self, inputs: Tensors, weights: list, states: list) -> Outputs:
        """Loops in Python."""
        rows, outputs = next(iter(inputs.values())).shape[0], []
        for first in range(0, rows, self.chunk_size):
            last = first + self.chunk_size
            chunk = {name: x[first:last] for name, x in inputs.items()}
            step = functools.partial(self._of_chunk, chunk, states=states)
            output, states = keras.remat(step)(weights)
            outputs.append(output)
        return ops.concatenate(outputs), states

    def compute_output_spec(self, inputs, training=None):
        return self.model.compute_output_spec(inputs)

    def get_config(self) -> dict[str, Any]:
        return {
            "model": keras.saving.serialize_keras_object(self.model),
            "chunk_size": self.chunk_size,
            "name": self.name,
        }

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Builds nothing: all weights are those of `model`."""
        self.built = True

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InChunks:
        model = keras.saving.deserialize_keras_object(config["model"])
        return cls(**{**config, "model": model})
