"""The int8 form of an encoder's block: what is recorded of it, and what it computes.

The form of another kind of block would be another such file.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers import EncoderBlock, FeedForward, LayerNorm, SelfAttention
from keras_bert_lite.layers.base import activation_function
from keras_bert_lite.serving.saved_model.int8.calibration import (
    InputRange,
    RangeRecorder,
)
from keras_bert_lite.serving.saved_model.int8.product import (
    ACTIVATIONS,
    Product,
    Range,
)
from keras_bert_lite.serving.saved_model.other_encoder import with_layers, with_parts

# How far smoothing moves large numbers from a column of x to a row of W.
SMOOTHING = 0.7
# The share of the columns inside the feed-forward network that stay in float32.
WIDE = 1 / 32
TINY = 1e-5


def check_covered(blocks: list[EncoderBlock], family: str) -> None:
    """Raises an error if the blocks have parts that have no int8 form."""
    for block in blocks:
        attention, network = block.attention, block.feed_forward
        if type(attention) is not SelfAttention or type(network) is not FeedForward:
            raise ValueError(
                "`int8` must be False for encoders with relative positions or layers "
                f"of your own. Received: True, and {type(attention).__name__} and "
                f"{type(network).__name__} in {family}"
            )
        if network.gated:
            raise ValueError(
                "`int8` must be False for encoders with a gated feed-forward network. "
                f"Received: True, and {family}"
            )
        if network.activation not in ACTIVATIONS:
            raise ValueError(
                "`int8` must be False unless the encoder's activation is one of "
                f"{list(ACTIVATIONS)}. Received: True, and {network.activation!r}"
            )


def with_recorders(block: EncoderBlock) -> EncoderBlock:
    """Returns a block with the same layers that records the ranges they read."""
    return with_parts(
        block,
        with_layers(block.attention, RangeRecorder),
        with_layers(block.feed_forward, RangeRecorder),
    )


def in_int8(block: EncoderBlock, recorded: EncoderBlock) -> EncoderBlock:
    """Returns a block that multiplies in int8.

    Args:
        block: A block.
        recorded: `with_recorders(block)`, after it read calibration texts.
    """
    return with_parts(
        block,
        Int8Attention(block.attention, recorded.attention),
        Int8FeedForward(block.feed_forward, recorded.feed_forward),
        norm=written_out,
    )


def written_out(norm: keras.layers.Layer) -> keras.layers.Layer:
    """Returns a normalization on one thread: its kernel would wake another one."""
    usual = isinstance(norm, LayerNorm) and norm.is_usual
    return WrittenOut(norm) if usual else norm


class WrittenOut(keras.layers.Layer):
    """A `LayerNorm` in single operations.

    Args:
        norm: The layer whose weights it uses.
    """

    def __init__(self, norm: LayerNorm) -> None:
        super().__init__(name=norm.name)
        self.norm = norm
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        return self.norm.written_out(x)


class Int8Attention(SelfAttention):
    """Self-attention whose projections are products in int8.

    Args:
        attention: The layer in float32.
        recorded: A copy of it whose dense layers are `RangeRecorder`s.

    Attributes:
        products: That of queries, keys and values, and that of the output.
    """

    def __init__(self, attention: SelfAttention, recorded: SelfAttention) -> None:
        super().__init__(**attention.get_config())
        self.head_dim = attention.head_dim
        joined = [attention.query, attention.key, attention.value]
        self._sizes = [dense.units for dense in joined]
        kernels, biases = map(list, zip(*map(_weights, joined), strict=True))
        kernel, bias = _weights(attention.output_dense)
        largest = recorded.output_dense.range.largest
        # Attention adds up values column by column, so their product can smooth them.
        # Heads that share their values, which are next to each other, share the factors
        # too.
        size, sharing = self.head_dim, self.num_heads // self.num_key_value_heads
        weights = np.abs(kernel).max(1)
        joint = [
            x.reshape(-1, sharing, size).max(1).ravel() for x in (largest, weights)
        ]
        shared = _factors(*joint)
        kernels[2], biases[2] = kernels[2] / shared, biases[2] / shared
        factors = np.repeat(shared.reshape(-1, 1, size), sharing, 1).ravel()
        self.products = [
            _smoothed_product(
                recorded.query.range, np.concatenate(kernels, 1), np.concatenate(biases)
            ),
            Product(kernel * factors[:, None], bias, _range(largest / factors)),
        ]
        self.built = True

    def build(self, x_shape: Any, *_: Any, **__: Any) -> None:
        """The products are there from the start."""

    def project(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        parts = tf.split(self.products[0](x), self._sizes, -1)
        query, key, value = (self.split_heads(self._repeated(y)) for y in parts)
        return query, key, value

    def join(self, attended: tf.Tensor) -> tf.Tensor:
        return self.products[1](attended)


class Int8FeedForward(keras.layers.Layer):
    """The feed-forward network of a block, its widest columns in float32.

    A few of the columns between its two layers have activations several times larger
    than all others; one range for all would leave the others too few levels. Only the
    largest values of a column count: `ACTIVATIONS` are bounded below.

    Args:
        network: The layer in float32.
        recorded: A copy of it whose dense layers are `RangeRecorder`s.

    Attributes:
        products: Those of its two layers.
        wide: The kernel and bias of the wide columns, and their rows of the second.

    Reference: [Dettmers et al., 2022](https://arxiv.org/abs/2208.07339), section 3.
    """

    def __init__(self, network: FeedForward, recorded: FeedForward) -> None:
        super().__init__(name=network.name)
        first, between = recorded.intermediate_dense.range, recorded.output_dense.range
        order = np.argsort(between.high, kind="stable")
        count = len(order) - int(len(order) * WIDE)
        most, wide = order[:count], order[count:]
        kernel, bias = _weights(network.intermediate_dense)
        out, out_bias = _weights(network.output_dense)
        span = Range(float(between.low.min()), float(between.high[most].max()))
        self.products = [
            _smoothed_product(
                first,
                kernel[:, most],
                bias[most],
                activation=network.activation,
                outputs=span,
            ),
            Product(out[most], out_bias, span, takes="uint8"),
        ]
        self.wide = [
            tf.Variable(x, trainable=False)
            for x in (kernel[:, wide], bias[wide], out[wide])
        ]
        self.activation = activation_function(network.activation)
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        kernel, bias, out = self.wide
        wide = self.activation(tf.linalg.matmul(x, kernel) + bias)
        first, last = self.products
        return last(first(x), tf.linalg.matmul(wide, out))


def variables_of(block: EncoderBlock) -> list[tf.Variable]:
    """Returns the variables of a block in int8 that Keras does not know."""
    attention, network = block.attention, block.feed_forward
    products = [*attention.products, *network.products]
    return [*(y for x in products for y in x.variables), *network.wide]


def _smoothed_product(
    recorded: InputRange, kernel: np.ndarray, bias: np.ndarray, **options: Any
) -> Product:
    factors = _factors(recorded.largest, np.abs(kernel).max(1))
    return Product(kernel, bias, _range(recorded.largest / factors), factors, **options)


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
