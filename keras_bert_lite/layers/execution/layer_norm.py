"""Layer normalization, in the forms that compilers make fewest passes of."""

import functools
from collections.abc import Callable

import keras
import tensorflow as tf
from keras import ops

from keras_bert_lite.layers.execution.engines import traced_for_engine

# From this size on, oneDNN's kernel is worth the overhead of a call.
FUSED_SIZE = 2**16


class LayerNorm(keras.layers.LayerNormalization):
    """Keras's layer normalization, written so that compilers fuse it.

    On `(T, H)`, the shape without padding, it is a `FusedBatchNorm` over a batch of
    one, followed by scale and offset. TensorFlow's graph optimizer replaces only this
    form of layer normalization over variables by a single oneDNN kernel. For other
    engines it is written out.

    Under JAX its gradient is written out: of the mean and the variance apart, XLA reads
    the rows once more. All other inputs use Keras's own implementation.
    """

    def call(self, inputs):
        if keras.backend.backend() == "jax":
            gamma = ops.convert_to_tensor(self.gamma, "float32")
            beta = self.beta if self.center else ops.zeros_like(gamma)
            beta = ops.convert_to_tensor(beta, "float32")
            return _lean(inputs, gamma, beta, self.epsilon)
        if traced_for_engine():
            return self.written_out(inputs)
        if not _fuses(inputs):
            return super().call(inputs)
        normalize = _normalizer(self.epsilon)
        gamma = self.gamma.value
        beta = self.beta.value if self.center else tf.zeros_like(gamma)
        outputs = normalize(inputs, gamma, beta)
        return tf.ensure_shape(outputs, inputs.shape)

    def written_out(self, inputs):
        """Normalizes by the operations that OpenVINO makes one of, axes included."""
        x = ops.cast(inputs, "float32")
        centered = x - tf.reduce_mean(x, [-1], keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), [-1], keepdims=True)
        outputs = centered / tf.sqrt(variance + self.epsilon) * self.gamma
        outputs = outputs + self.beta if self.center else outputs
        return ops.cast(outputs, inputs.dtype)


def _lean(x, gamma, beta, epsilon: float):
    """Normalizes in float32, by rows: (..., H) -> (..., H)."""

    @ops.custom_gradient
    def normalize(x, gamma, beta):
        rows = ops.cast(x, "float32")
        mean = ops.mean(rows, axis=-1, keepdims=True)
        if x.dtype == rows.dtype:
            variance = ops.mean(ops.square(rows - mean), axis=-1, keepdims=True)
        else:
            # In the pass of the mean. What this loses is less than a low precision's
            # own rounding of the inputs.
            variance = ops.mean(ops.square(rows), axis=-1, keepdims=True)
            variance = ops.maximum(variance - ops.square(mean), 0.0)
        scale = ops.rsqrt(variance + epsilon)
        normal = (rows - mean) * scale

        def gradient(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            upstream = ops.cast(upstream, "float32")
            to_normal = upstream * gamma
            along = ops.mean(to_normal * normal, axis=-1, keepdims=True)
            centred = to_normal - ops.mean(to_normal, axis=-1, keepdims=True)
            to_x = scale * (centred - normal * along)
            axes = tuple(range(len(x.shape) - 1))
            to_gamma = ops.sum(upstream * normal, axis=axes)
            to_beta = ops.sum(upstream, axis=axes)
            return ops.cast(to_x, x.dtype), to_gamma, to_beta

        return ops.cast(normal * gamma + beta, x.dtype), gradient

    return normalize(x, gamma, beta)


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
