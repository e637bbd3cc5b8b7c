"""Private names of other packages: every one that this package uses, and why.

`tests/test_private.py` fails when one of them changes.
"""

from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf


def sublayers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Yields a layer and all layers inside it, those of models in it too.

    Keras gives only a model's direct `layers`; sublayers of a layer have no public
    list.
    """
    yield from layer._flatten_layers()


def adam_state(
    optimizer: keras.optimizers.Adam, variable: Any
) -> tuple[int, keras.Variable, keras.Variable]:
    """Returns a variable's index in an optimizer, and its two moving averages.

    Keras's `update_step` finds them by private names, too; a second list of
    averages, made by `add_optimizer_variables`, would double their memory.
    """
    index = optimizer._get_variable_index(variable)
    return index, optimizer._momentums[index], optimizer._velocities[index]


def compiles_with_xla() -> bool:
    """Whether the function being traced is to be compiled by XLA.

    TensorFlow has no public name for it; `jit_compile=True` marks the graph's
    control flow.
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
    """Makes the resource of a SentencePiece model, shared by name.

    `tensorflow_text.SentencepieceTokenizer` makes one that Keras would have to
    track in every model; by name, all calls share one.
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
    """A resource whose handle is one that traced functions have captured already.

    The public class makes a new handle, which no traced function would know.
    """

    def __init__(self, handle: tf.Tensor) -> None:
        super().__init__()
        self._resource_handle = handle
