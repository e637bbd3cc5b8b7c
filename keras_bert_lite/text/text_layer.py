"""The base of layers that take strings."""

import keras

from keras_bert_lite._tensorflow import check_tensorflow, tf, without_autograph


class TextLayer(keras.layers.Layer):
    """A layer that takes strings: Python's, numpy's or TensorFlow's.

    Keras refuses Python strings in `__call__`, and hands JAX or torch tensors
    to `call` under those backends. A text layer runs TensorFlow ops under
    every backend, so it converts its inputs itself. Called on values, it runs
    eagerly (or inside the `tf.data` function being traced); called on a
    `keras.Input`, it becomes part of a functional model.
    """

    def __init__(self, **kwargs):
        check_tensorflow(f"`{type(self).__name__}`")
        super().__init__(**kwargs)
        # String ops have no XLA kernels; Keras then leaves XLA off.
        self.supports_jit = False
        self.built = True

    @without_autograph
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
