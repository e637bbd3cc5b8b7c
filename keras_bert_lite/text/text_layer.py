"""The base of layers that take strings."""

from typing import Any

import keras
import tensorflow as tf


class TextLayer(keras.layers.Layer):
    """A layer that takes strings: Python's, numpy's or TensorFlow's.

    Keras refuses Python strings in `__call__`, and hands JAX or torch tensors
    to `call` under those backends. A text layer runs TensorFlow ops under
    every backend, so it converts its inputs itself. Called on values, it runs
    eagerly (or inside the `tf.data` function being traced); called on a
    `keras.Input`, it becomes part of a functional model.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        # String ops have no XLA kernels; Keras then leaves XLA off.
        self.supports_jit = False
        self.built = True

    # Nothing here needs AutoGraph, which takes longer than the tracing itself.
    @tf.autograph.experimental.do_not_convert
    def __call__(self, inputs, *others, training=None):
        # Functional models pass `training` on; no text layer depends on it.
        if others:
            raise TypeError(
                f"`{self.name}` takes one argument. Received: {1 + len(others)}. Pass "
                "a pair of texts as one tuple; in `tf.data`, "
                "`.map(lambda text, label: (layer(text), label))`"
            )
        if any(isinstance(x, keras.KerasTensor) for x in tf.nest.flatten(inputs)):
            self.require_tensorflow()
            return super().__call__(inputs)
        return self.call(inputs)

    def require_tensorflow(self) -> None:
        """Raises `NotImplementedError` unless the backend is TensorFlow."""
        require_tensorflow(f"`{self.name}`")


def layer_from_config(config: Any, kind: type, what: str) -> Any:
    """Returns a layer that another layer's configuration contains.

    Args:
        config: What `keras.saving.serialize_keras_object` returned, perhaps read from
            a file of unknown origin: no object of another class is built from it.
        kind: The class that the layer must have, or inherit from.
        what: What it is called in errors.

    Raises:
        ValueError: If it is not the description of such a layer.
    """
    known = config if isinstance(config, dict) else {}
    name = known.get("registered_name") or known.get("class_name")
    found = keras.saving.get_registered_object(name) if isinstance(name, str) else None
    layer = None
    if isinstance(found, type) and issubclass(found, kind):
        try:
            layer = keras.saving.deserialize_keras_object(config)
        except TypeError as error:
            # Keras puts the whole configuration before the cause.
            reason = str(error).rsplit("Exception encountered: ", 1)[-1]
            raise ValueError(f"{what} cannot be made: {reason}") from error
    if not isinstance(layer, kind):
        raise ValueError(
            f"{what} must be the configuration of a registered `{kind.__name__}`. "
            f"Received: {config!r:.100}"
        )
    return layer


def require_tensorflow(what: str) -> None:
    """Raises `NotImplementedError` unless the backend is TensorFlow.

    Args:
        what: What is refused, for the message.
    """
    if keras.backend.backend() != "tensorflow":
        raise NotImplementedError(
            f"{what} runs TensorFlow string ops, which can be part of a model only "
            "under the TensorFlow backend. To serve what was trained here, save the "
            'model on ids, `model.save("model.keras")`, and in a process with '
            "`KERAS_BACKEND=tensorflow`: "
            "`kbl.export_saved_model(kbl.with_text(keras.models.load_model("
            '"model.keras"), preprocessor), directory)`. For ids, call the '
            "preprocessor eagerly or in `tf.data`. "
            f"Received: the backend {keras.backend.backend()!r}"
        )
