"""All private names of other packages that this package uses, and why.

`tests/test_private.py` fails when one of them changes.
"""

from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf


def sublayers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Yields a layer and all layers inside it, including those of inner models.

    Keras gives only a model's direct `layers`; sublayers of a layer have no public
    list.
    """
    yield from layer._flatten_layers()


def adam_state(
    optimizer: keras.optimizers.Adam, variable: Any
) -> tuple[int, keras.Variable, keras.Variable]:
    """Returns a variable's index in an optimizer, and its two moving averages.

    Keras's `update_step` uses the same private names. A second list of averages
    from `add_optimizer_variables` would double their memory.
    """
    index = optimizer._get_variable_index(variable)
    return index, optimizer._momentums[index], optimizer._velocities[index]


def compiles_with_xla() -> bool:
    """Returns whether XLA will compile the function that is being traced.

    TensorFlow has no public API for this. `jit_compile=True` marks the control flow
    of the graph.
    """
    graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    while graph is not None:
        context = graph._get_control_flow_context()
        while context is not None:
            if context.IsXLAContext():
                return True
            context = context.outer_context
        graph = getattr(graph, "outer_graph", None)
    return False


def sentencepiece_op(model: bytes, shared_name: str) -> tf.Tensor:
    """Creates the resource of a SentencePiece model, shared by name.

    Keras would have to track the resource of `tensorflow_text.SentencepieceTokenizer`
    in every model. With a shared name, all calls use one resource.
    """
    return _sentencepiece_ops().sentencepiece_op(model=model, shared_name=shared_name)


def sentencepiece_tokenize(
    handle: tf.Tensor, strings: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the ids and the row splits (int32, int64) of strings `(B,)`."""
    return _sentencepiece_ops().sentencepiece_tokenize_op(
        handle, strings, 0, 1.0, False, False, False
    )


def _sentencepiece_ops() -> Any:
    from tensorflow_text.python.ops import sentencepiece_tokenizer

    return sentencepiece_tokenizer.gen_sentencepiece_tokenizer


class SharedResource(tf.saved_model.experimental.TrackableResource):
    """A resource with a handle that traced functions have already captured.

    The public class creates a new handle, which no traced function would use.
    """

    def __init__(self, handle: tf.Tensor) -> None:
        super().__init__()
        self._resource_handle = handle
