"""An encoder's dense layers in int8, while its signatures are traced."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert_lite.layers.encoder_block import EncoderBlock
from keras_bert_lite.layers.execution.real_tokens import RealTokens
from keras_bert_lite.serving.saved_model.dense_calls import replaced_calls
from keras_bert_lite.serving.saved_model.int8.calibration import Observed
from keras_bert_lite.serving.saved_model.int8.product import (
    ACTIVATIONS,
    Product,
    Range,
)

# How far smoothing moves large numbers from a column of x to a row of W.
SMOOTHING = 0.7
# The share of the columns inside the feed-forward network that stay in float32.
WIDE = 1 / 32
TINY = 1e-5

Layers = dict[keras.layers.Layer, Observed]


def check_covered(blocks: Sequence[EncoderBlock]) -> None:
    """Raises an error if the blocks have parts that are not multiplied in int8."""
    config = blocks[0].config
    if config.relative_positions is not None or config.gated:
        raise ValueError(
            "`int8` must be False for encoders with relative positions or a gated "
            f"feed-forward network. Received: True, and a {config.family!r} encoder"
        )
    if config.activation not in ACTIVATIONS:
        raise ValueError(
            "`int8` must be False unless the encoder's activation is one of "
            f"{list(ACTIVATIONS)}. Received: True, and {config.activation!r}"
        )


def observed_layers(blocks: Sequence[EncoderBlock]) -> list[keras.layers.Layer]:
    """Returns the layers whose inputs must be known."""
    return [
        layer
        for block in blocks
        for layer in (
            block.attention.query,
            block.attention.output_dense,
            block.feed_forward.intermediate_dense,
            block.feed_forward.output_dense,
        )
    ]


@contextlib.contextmanager
def in_int8(
    blocks: Sequence[EncoderBlock], seen: Layers
) -> Iterator[list[tf.Variable]]:
    """Lets blocks multiply in int8; yields the variables that they then use.

    Args:
        blocks: Blocks of an encoder.
        seen: What their `observed_layers` were given on calibration texts.
    """
    calls: dict[keras.layers.Layer, Callable] = {}
    variables: list[tf.Variable] = []
    for block in blocks:
        attention, fed = block.attention, block.feed_forward
        joined = [attention.query, attention.key, attention.value]
        heads, output = _attention_products(block, seen)
        parts = _Parts(heads, [layer.units for layer in joined])
        calls |= {layer: parts.part(i) for i, layer in enumerate(joined)}
        calls[attention.output_dense] = _call(output)
        calls[fed] = network = _FeedForward(fed, seen)
        variables += [*heads.variables, *output.variables, *network.variables]
    with replaced_calls(calls), RealTokens.in_steps():
        yield variables


def replaced_weights(blocks: Sequence[EncoderBlock]) -> list[keras.Variable]:
    """Returns the weights that blocks in int8 do not use."""
    return [
        weight
        for block in blocks
        for layer in (block.attention, block.feed_forward)
        for weight in layer.weights
    ]


def _attention_products(block: EncoderBlock, seen: Layers) -> tuple[Product, Product]:
    """Returns the products of queries, keys and values, and of the output."""
    attention = block.attention
    joined = [attention.query, attention.key, attention.value]
    kernels, biases = map(list, zip(*map(_weights, joined), strict=True))
    kernel, bias = _weights(attention.output_dense)
    largest = seen[attention.output_dense].largest
    # Attention adds up values column by column, so their product can smooth them. Heads
    # that share their values, which are next to each other, share the factors too.
    size = len(kernel) // block.config.num_heads
    sharing = len(kernel) // attention.value.units
    weights = np.abs(kernel).max(1)
    joint = [x.reshape(-1, sharing, size).max(1).ravel() for x in (largest, weights)]
    shared = _factors(*joint)
    kernels[2], biases[2] = kernels[2] / shared, biases[2] / shared
    factors = np.repeat(shared.reshape(-1, 1, size), sharing, 1).ravel()
    heads = _smoothed(
        seen[attention.query], np.concatenate(kernels, 1), np.concatenate(biases)
    )
    return heads, Product(kernel * factors[:, None], bias, _range(largest / factors))


class _Parts:
    """Dense layers that read the same tensor, computed by one product."""

    def __init__(self, product: Product, sizes: list[int]) -> None:
        self._product, self._sizes = product, sizes
        self._x: Any = None

    def part(self, index: int) -> Callable:
        def call(x: tf.Tensor, training: Any = None) -> tf.Tensor:
            if x is not self._x:
                self._x = x
                self._values = tf.split(self._product(x), self._sizes, -1)
            return self._values[index]

        return call


class _FeedForward:
    """The feed-forward network of a block, its widest columns in float32.

    A few of the columns between its two layers reach several times as far as all
    others. In one range with them, the others would have too few values.

    Reference: [Dettmers et al., 2022](https://arxiv.org/abs/2208.07339), section 3.
    """

    def __init__(self, layer: Any, seen: Layers) -> None:
        first, last = layer.intermediate_dense, layer.output_dense
        between = seen[last]
        order = np.argsort(between.high, kind="stable")
        count = len(order) - int(len(order) * WIDE)
        most, wide = order[:count], order[count:]
        (kernel, bias), (out, out_bias) = _weights(first), _weights(last)
        span = Range(float(between.low.min()), float(between.high[most].max()))
        self._first = _smoothed(
            seen[first],
            kernel[:, most],
            bias[most],
            activation=layer.config.activation,
            outputs=span,
        )
        self._last = Product(out[most], out_bias, span, takes="uint8")
        self._wide = [
            tf.Variable(x, trainable=False)
            for x in (kernel[:, wide], bias[wide], out[wide])
        ]
        self._activation = first.activation
        self.variables = [
            *self._first.variables,
            *self._last.variables,
            *self._wide,
        ]

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        kernel, bias, out = self._wide
        wide = self._activation(tf.linalg.matmul(x, kernel) + bias)
        return self._last(self._first(x), tf.linalg.matmul(wide, out))


def _call(product: Product) -> Callable:
    return lambda x, training=None: product(x)


def _smoothed(
    seen: Observed, kernel: np.ndarray, bias: np.ndarray, **options: Any
) -> Product:
    factors = _factors(seen.largest, np.abs(kernel).max(1))
    return Product(kernel, bias, _range(seen.largest / factors), factors, **options)


def _factors(largest: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the smoothing factor of each column of x, `(K,)`.

    Args:
        largest: The largest absolute value of each column of x, `(K,)`.
        weights: That of each row of W, `(K,)`.

    Reference: [Xiao et al., 2022](https://arxiv.org/abs/2211.10438), equation 4.
    """
    weights = np.maximum(weights, TINY)
    factors = np.maximum(largest, TINY) ** SMOOTHING / weights ** (1 - SMOOTHING)
    return factors.astype("float32")


def _range(largest: np.ndarray) -> Range:
    most = max(float(largest.max()), TINY)
    return Range(-most, most)


def _weights(layer: keras.layers.Dense) -> tuple[np.ndarray, np.ndarray]:
    kernel = keras.ops.convert_to_numpy(layer.kernel)
    if layer.bias is None:
        return kernel, np.zeros(kernel.shape[1], "float32")
    return kernel, keras.ops.convert_to_numpy(layer.bias)
