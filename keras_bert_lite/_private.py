"""All private names of other packages that this package uses, and why.

`tests/test_private.py` fails when one of them changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import keras

if TYPE_CHECKING:
    import tensorflow as tf


def sublayers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Yields a layer and all layers inside it, including those of inner models.

    Keras gives only a model's direct `layers`; sublayers of a layer have no public
    list.
    """
    yield from layer._flatten_layers()


def stored_value(variable: keras.Variable) -> Any:
    """Returns a variable's value in the type that it is stored in.

    Keras casts variables to low precision in all that a layer in mixed precision calls,
    and has no public way around.
    """
    from keras.src.backend import AutocastScope

    with AutocastScope(None):
        return variable.value


def keras_mask(x: Any) -> Any:
    """Returns the mask that Keras attached to a tensor, or `None`.

    Keras gives it to layers whose `call` has an argument `mask`; there is no public
    function for those that call it otherwise.
    """
    from keras.src.backend import get_keras_mask

    return get_keras_mask(x)


def set_keras_mask(x: Any, mask: Any) -> None:
    """Attaches a mask to a tensor, for the Keras layers that it is given to.

    `Layer.compute_mask` knows only a layer's first argument, not its `padding_mask`.
    """
    from keras.src.backend import set_keras_mask

    set_keras_mask(x, mask)


def adam_state(
    optimizer: keras.optimizers.Adam, variable: Any
) -> tuple[int, keras.Variable, keras.Variable]:
    """Returns a variable's index in an optimizer, and its two moving averages.

    Keras's `update_step` uses the same private names. A second list of averages
    from `add_optimizer_variables` would double their memory.
    """
    index = optimizer._get_variable_index(variable)
    return index, optimizer._momentums[index], optimizer._velocities[index]


@contextlib.contextmanager
def without_traced_gradients() -> Iterator[None]:
    """Forgets the gradients of what is traced in the context, when it ends.

    TensorFlow registers the gradient of each `tf.custom_gradient` that it traces, for
    ever, and with it the whole graph. It is looked up only while another function that
    takes gradients of this graph is traced. What two threads trace at once is forgotten
    when the last of their contexts ends.
    """
    from tensorflow.python.framework.ops import gradient_registry

    entries = gradient_registry._registry
    _registered_before.append(set(entries))
    try:
        yield
    finally:
        before = _registered_before.pop()
        if not _registered_before:
            for name in set(entries) - before:
                del entries[name]


_registered_before: list[set[str]] = []  # of each context that has not ended


def build_from_one_replica(model: keras.Model) -> None:
    """Lets a model under `tf.distribute` be built from the batch of one device.

    To build metrics and losses Keras averages the first batches of all devices, which
    TensorFlow cannot do with booleans such as `padding_mask`. It needs only shapes
    and types. `WholeGradients` overrides a second private method, `_clip_gradients`:
    nothing public stands between the gradients' sum and their use.
    """
    build, strategy = model._maybe_symbolic_build, model.distribute_strategy

    def local(value: Any) -> Any:
        return strategy.experimental_local_results(value)[0]

    def build_from(iterator: Any = None, data_batch: Any = None) -> None:
        if iterator is not None:
            for _, _, batches in iterator:
                data_batch = keras.tree.map_structure(local, next(batches))
                break
        build(data_batch=data_batch)

    model._maybe_symbolic_build = build_from


def coordination() -> Any:
    """Returns JAX's `client` of its coordination service, and `coordinator_address`.

    JAX has no public API for its key-value store.
    """
    from jax._src import distributed

    return distributed.global_state


def compiles_with_xla() -> bool:
    """Returns whether XLA will compile the function that is being traced.

    TensorFlow has no public API for this. `jit_compile=True` marks the control flow
    of the graph.
    """
    import tensorflow as tf

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


def set_resource_handle(resource: Any, handle: tf.Tensor) -> None:
    """Gives a `TrackableResource` a handle that traced functions have captured.

    By itself it creates a new handle, which no traced function would use.
    """
    resource._resource_handle = handle
