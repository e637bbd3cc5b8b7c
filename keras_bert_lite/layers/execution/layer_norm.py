"""Layer normalization."""

import functools
from collections.abc import Callable

import keras
import tensorflow as tf

# From this size on, oneDNN's kernel is worth the overhead of a call.
FUSED_SIZE = 2**16


class LayerNorm(keras.layers.LayerNormalization):
    """Keras's layer normalization, written so that TensorFlow fuses it on CPU.

    On `(T, H)`, the shape without padding, it is a `FusedBatchNorm` over a batch of
    one, followed by scale and offset. TensorFlow's graph optimizer replaces only this
    form of layer normalization over variables by a single oneDNN kernel. All other
    inputs use Keras's own implementation.
    """

    fuses = True  # exporters to other engines turn it off

    def call(self, inputs):
        if not (self.fuses and _fuses(inputs)):
            return super().call(inputs)
        normalize = _normalizer(self.epsilon)
        gamma = self.gamma.value
        beta = self.beta.value if self.center else tf.zeros_like(gamma)
        outputs = normalize(inputs, gamma, beta)
        return tf.ensure_shape(outputs, inputs.shape)


@functools.cache
def _normalizer(epsilon: float) -> Callable:
    """Returns layer normalization as one function, which a graph stores once."""

    def plain(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
        centered = x - tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), -1, keepdims=True)
        return centered * (tf.math.rsqrt(variance + epsilon) * gamma) + beta

    def fused(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
        rows = tf.shape(x)[0]
        normalized = tf.raw_ops.FusedBatchNormV3(
            x=tf.reshape(x, [1, rows, -1, 1]),  # a row is a channel
            scale=tf.ones([rows]),
            offset=tf.zeros([rows]),
            mean=tf.zeros([0]),
            variance=tf.zeros([0]),
            epsilon=epsilon,
            data_format="NCHW",
        )[0]
        return tf.reshape(normalized, tf.shape(x)) * gamma + beta

    vector = tf.TensorSpec([None])

    signature = [tf.TensorSpec([None, None]), vector, vector]

    @tf.function(input_signature=signature, autograph=False)
    def normalize(x: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor) -> tf.Tensor:
        return tf.cond(
            tf.size(x) < FUSED_SIZE,
            lambda: plain(x, gamma, beta),
            lambda: fused(x, gamma, beta),
        )

    return normalize


def _fuses(inputs) -> bool:
    return (
        keras.backend.backend() == "tensorflow"
        and len(inputs.shape) == 2
        and inputs.dtype == tf.float32
        and not tf.config.list_physical_devices("GPU")
    )
