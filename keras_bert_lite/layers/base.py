"""Base classes of layers with sublayers."""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import keras

from keras_bert_lite._private import keras_mask, sublayers
from keras_bert_lite.checks import check_not_negative
from keras_bert_lite.config import EncoderConfig, encoder_config
from keras_bert_lite.layers.dropout import Dropout
from keras_bert_lite.layers.execution.gelu import gelu
from keras_bert_lite.layers.execution.layer_norm import LayerNorm
from keras_bert_lite.sizes import check_sizes

_drawing = contextvars.ContextVar("_drawing", default=True)


class CompositeLayer(keras.layers.Layer):
    """A layer made of named Keras sublayers.

    Its configuration records the dtype policy of each quantized sublayer, so
    that a model saved after `model.quantize("int8")` loads again. Its output has the
    Keras mask of its first input, unless `compute_mask` says otherwise.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        policy = self.dtype_policy
        if isinstance(policy, keras.dtype_policies.DTypePolicyMap):  # once loaded
            policy = policy.default_policy
        policies = keras.dtype_policies.DTypePolicyMap(default_policy=policy)
        for layer in sublayers(self):
            if layer is not self and layer.quantization_mode is not None:
                policies[layer.path] = layer.dtype_policy
        if len(policies):
            config["dtype"] = policies
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "CompositeLayer":
        layer = super().from_config(config)
        if not layer.trainable:
            # Freezes the sublayers, too; setting the same value again has no effect.
            layer.trainable = True
            layer.trainable = False
        return layer


class EncoderPart(CompositeLayer):
    """A layer that is configured by the whole `EncoderConfig`.

    Args:
        config: An `EncoderConfig`, or its fields in a dictionary.
    """

    def __init__(self, config: EncoderConfig | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.config = encoder_config(config)

    def _dense(
        self, units: int, name: str, use_bias: bool = True, activation: Any = None
    ) -> keras.layers.Dense:
        return keras.layers.Dense(
            units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=self._initializer(),
            dtype=self.dtype_policy,
            name=name,
        )

    def _table(self, rows: int, width: int, name: str) -> keras.layers.Embedding:
        return keras.layers.Embedding(
            rows,
            width,
            embeddings_initializer=self._initializer(),
            dtype=self.dtype_policy,
            name=name,
        )

    def _layer_norm(self, name: str) -> keras.layers.Layer:
        if self.config.norms.rms:
            return keras.layers.RMSNormalization(
                epsilon=self.config.layer_norm_epsilon,
                dtype=self.dtype_policy,
                name=name,
            )
        return LayerNorm(
            epsilon=self.config.layer_norm_epsilon,
            center=self.config.norms.bias,
            dtype=self.dtype_policy,
            name=name,
        )

    def _dropout(self, rate: float, name: str = "dropout") -> Dropout:
        return Dropout(rate, dtype=self.dtype_policy, name=name)

    def _initializer(self) -> "Initializer":
        return Initializer(stddev=self.config.initializer_range)

    def _check_width(self, x_shape: tuple[int | None, ...]) -> None:
        """Raises an error unless the input has the shape `(B, S, H)`."""
        if len(x_shape) != 3 or x_shape[-1] != self.config.hidden_dim:
            raise ValueError(
                "`x` must have the shape (batch, sequence, "
                f"{self.config.hidden_dim}). Received: {tuple(x_shape)}"
            )

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "EncoderPart":
        # Perhaps out of a file, which says nothing of how much is stored in it.
        check_sizes(encoder_config(config["config"]))
        return super().from_config(config)


class BlockPart(EncoderPart):
    """A layer of one of an encoder's blocks.

    Args:
        config: See `EncoderPart`.
        layer: The index of its encoder layer, from 0.
    """

    def __init__(
        self, config: EncoderConfig | dict[str, Any], layer: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(config, **kwargs)
        check_not_negative("layer", layer)
        self.layer = layer

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": self.layer}


def padding_mask_of(x: Any, padding_mask: Any) -> Any:
    """Returns the padding mask: the argument, or the Keras mask of the input."""
    return keras_mask(x) if padding_mask is None else padding_mask


def activation_function(name: str) -> Callable:
    """Returns an activation function by its name in `EncoderConfig.activation`."""
    if name == "gelu":
        return gelu
    if name == "gelu_tanh":
        return functools.partial(keras.ops.gelu, approximate=True)
    return keras.activations.get(name)


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class Initializer(keras.initializers.TruncatedNormal):
    """BERT's initializer: a truncated normal, or zeros in `skip_initialization`."""

    def __call__(self, shape: tuple[int, ...], dtype: str | None = None) -> Any:
        if _drawing.get():
            return super().__call__(shape, dtype)
        return keras.ops.zeros(shape, dtype)


@contextlib.contextmanager
def skip_initialization() -> Iterator[None]:
    """Initializes weights with zeros, because stored weights will replace them.

    Random initialization took half of the time to load BERT-large.
    """
    token = _drawing.set(False)
    try:
        yield
    finally:
        _drawing.reset(token)
