"""What every layer with sublayers needs."""

import functools
from collections.abc import Callable
from typing import Any

import keras


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


def activation_function(name: str) -> Callable:
    """Returns the function of an `EncoderConfig.activation` name."""
    if name == "gelu":
        return functools.partial(keras.ops.gelu, approximate=False)
    if name == "gelu_tanh":
        return functools.partial(keras.ops.gelu, approximate=True)
    return keras.activations.get(name)


def initializer(stddev: float) -> keras.initializers.Initializer:
    """BERT's initializer: a truncated normal."""
    return keras.initializers.TruncatedNormal(stddev=stddev)
