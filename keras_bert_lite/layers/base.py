"""Base classes of layers with sublayers."""

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import keras

from keras_bert_lite._private import keras_mask, set_keras_mask, sublayers
from keras_bert_lite.checks import check_above_zero, check_rate
from keras_bert_lite.layer_config import layer_from_config
from keras_bert_lite.layers.dropout import Dropout
from keras_bert_lite.layers.gelu import gelu
from keras_bert_lite.layers.layer_norm import LayerNorm
from keras_bert_lite.sizes import check_fits

_random_init = contextvars.ContextVar("_random_init", default=True)


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
        if "config" in config and "config" not in inspect.signature(cls).parameters:
            raise ValueError(
                f"`config` is no longer an argument of `{cls.__name__}`: the file was "
                "saved by a version before 0.1.0. Make the model again. "
                f"Received: {config['config']!r:.100}"
            )
        layer = super().from_config(config)
        if not layer.trainable:
            # Freezes the sublayers, too; setting the same value again has no effect.
            layer.trainable = True
            layer.trainable = False
        return layer


class EncoderPart(CompositeLayer):
    """A layer of dense layers and tables that are initialized as BERT's.

    Args:
        initializer_range: Standard deviation of the initial weights.

    Attributes:
        LAYERS: The names of its dense layers, for forms of it that have others.
    """

    LAYERS: tuple[str, ...] = ()

    def __init__(self, initializer_range: float = 0.02, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_above_zero("initializer_range", initializer_range)
        self.initializer_range = initializer_range

    def _dense(
        self, units: int, name: str, use_bias: bool = True, activation: Any = None
    ) -> keras.layers.Dense:
        return keras.layers.Dense(
            units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=self._initializer(),
            trainable=self.trainable,  # it may be made after the layer was frozen
            dtype=self.dtype_policy,
            name=name,
        )

    def _add_dense(
        self,
        name: str,
        units: int,
        use_bias: bool,
        x_shape: Any,
        activation: Any = None,
    ) -> None:
        """Makes and builds a dense layer, unless there is one of this name."""
        check_fits(f"The width of `x` and of `{name}`", x_shape[-1] * units)
        if getattr(self, name) is None:
            setattr(self, name, self._dense(units, name, use_bias, activation))
            getattr(self, name).build(x_shape)

    def _table(self, rows: int, width: int, name: str) -> keras.layers.Embedding:
        check_fits(f"The rows and the width of `{name}`", rows * width)
        return keras.layers.Embedding(
            rows,
            width,
            embeddings_initializer=self._initializer(),
            trainable=self.trainable,
            dtype=self.dtype_policy,
            name=name,
        )

    def _dropout(self, rate: float, name: str = "dropout") -> Dropout:
        check_rate(name, rate)
        return Dropout(rate, dtype=self.dtype_policy, name=name)

    def _initializer(self) -> "Initializer":
        return Initializer(stddev=self.initializer_range)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "initializer_range": self.initializer_range}


def part_of(value: Any, kind: type, name: str) -> Any:
    """Returns a layer that is given, or its configuration, as in files.

    Raises:
        TypeError: If it is neither.
        ValueError: If the configuration is that of another class.
    """
    if isinstance(value, dict):
        return layer_from_config(value, kind, f"`{name}`")
    if value is not None and not isinstance(value, kind):
        raise TypeError(
            f"`{name}` must be of the class `{kind.__name__}`, or None. "
            f"Received: {value!r}"
        )
    return value


def norm_of(value: Any, name: str, dtype: Any) -> keras.layers.Layer | None:
    """Returns the normalization of a layer.

    Args:
        value: A normalization layer, or its configuration; `True` for a `LayerNorm`,
            `False` or `None` for none.
        name: The name of the argument.
        dtype: The policy of the layer that it is made for.
    """
    if value is True:
        return LayerNorm(dtype=dtype, name=name)
    return None if value is False else part_of(value, keras.layers.Layer, name)


def bias_names(use_bias: Any, names: tuple[str, ...]) -> list[str]:
    """Returns which of some dense layers have a bias.

    Args:
        use_bias: `True`, `False`, or a list of some of the names.
        names: The names of the dense layers.

    Raises:
        ValueError: If it is neither.
    """
    if isinstance(use_bias, bool):
        return list(names) if use_bias else []
    known = isinstance(use_bias, (list, tuple)) and set(use_bias) <= set(names)
    if not known:
        raise ValueError(
            f"`use_bias` must be True, False or a list of some of {names}. "
            f"Received: {use_bias!r}"
        )
    return [name for name in names if name in use_bias]


def check_states(x_shape: Any) -> None:
    """Raises an error unless hidden states have the shape `(B, S, H)`."""
    if len(x_shape) != 3 or x_shape[-1] is None:
        raise ValueError(
            "`x` must have the shape (batch, sequence, hidden), of a known width. "
            f"Received: {tuple(x_shape)}"
        )


def check_divides(name: str, count: int, x_shape: Any) -> None:
    """Raises an error unless a number of parts divides the width of an input."""
    if x_shape[-1] % count:
        raise ValueError(
            f"`{name}` must divide the width of `x`. Received: {name}={count}, and `x` "
            f"of shape {tuple(x_shape)}"
        )


def check_width(x: Any, width: int) -> None:
    """Raises an error unless an input is as wide as the one a layer was built for."""
    if x.shape[-1] != width:
        raise ValueError(
            f"`x` must have the width {width}. Received: the shape {tuple(x.shape)}"
        )


def check_rows(x: Any, of: str = "x", **arguments: Any) -> None:
    """Raises an error unless masks and ids have the shape `(B, S)` of an input.

    Args:
        x: The input.
        of: Its name.
        **arguments: The masks and ids by their names; `None`s are skipped.
    """
    shape = tuple(x.shape[:2])
    for name, value in arguments.items():
        if value is None:
            continue
        sizes = tuple(value.shape)
        fit = all(a == b or None in (a, b) for a, b in zip(sizes, shape, strict=False))
        if len(sizes) != 2 or not fit:
            raise ValueError(
                f"`{name}` must have the shape (batch, sequence) of `{of}`, "
                f"{shape}. Received: {sizes}"
            )


def with_mask(outputs: Any, mask: Any) -> Any:
    """Returns outputs, the first of which carries the Keras mask."""
    if mask is not None:
        first = outputs[0] if isinstance(outputs, tuple) else outputs
        set_keras_mask(first, mask)
    return outputs


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
        if _random_init.get():
            return super().__call__(shape, dtype)
        return keras.ops.zeros(shape, dtype)


@contextlib.contextmanager
def skip_initialization() -> Iterator[None]:
    """Initializes weights with zeros, because stored weights will replace them.

    Random initialization took half of the time to load BERT-large.
    """
    token = _random_init.set(False)
    try:
        yield
    finally:
        _random_init.reset(token)
