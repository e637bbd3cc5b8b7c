"""What every layer with sublayers needs."""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras

_drawing = contextvars.ContextVar("_drawing", default=True)


class CompositeLayer(keras.layers.Layer):
    """A layer made of named Keras sublayers.

    Its configuration records the dtype policy of each quantized sublayer, so
    that a model saved after `model.quantize("int8")` loads again.
    """

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        policy = self.dtype_policy
        if isinstance(policy, keras.dtype_policies.DTypePolicyMap):  # once loaded
            policy = policy.default_policy
        policies = keras.dtype_policies.DTypePolicyMap(default_policy=policy)
        for layer in self._flatten_layers(include_self=False):
            if layer.quantization_mode is not None:
                policies[layer.path] = layer.dtype_policy
        if len(policies):
            config["dtype"] = policies
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "CompositeLayer":
        layer = super().from_config(config)
        if not layer.trainable:
            # For the sublayers too. TensorFlow passes over what is set already.
            layer.trainable = True
            layer.trainable = False
        return layer


def activation_function(name: str) -> Callable:
    """Returns the function of an `EncoderConfig.activation` name."""
    if name == "gelu":
        return functools.partial(keras.ops.gelu, approximate=False)
    if name == "gelu_tanh":
        return functools.partial(keras.ops.gelu, approximate=True)
    return keras.activations.get(name)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Initializer(keras.initializers.TruncatedNormal):
    """BERT's initializer, a truncated normal; or zeros, inside `undrawn`."""

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        if _drawing.get():
            return super().__call__(shape, dtype)
        return keras.ops.zeros(shape, dtype)


@contextlib.contextmanager
def undrawn() -> Iterator[None]:
    """Draws no random weights inside: stored ones will replace them.

    Half of the time that loading BERT-large took went into drawing them.
    """
    token = _drawing.set(False)
    try:
        yield
    finally:
        _drawing.reset(token)
