"""Layer normalization, written so that each compiler fuses it."""

import functools
from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_bert_lite.checks import check_above_zero
from keras_bert_lite.layers.execution.engines import traced_for_engine

# From this size on, oneDNN's kernel is worth the overhead of a call.
FUSED_SIZE = 2**16


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class LayerNorm(keras.layers.LayerNormalization):
    """Keras's layer normalization, written so that compilers fuse it.

    On `(T, H)`, the shape without padding, it is a `FusedBatchNorm` over a batch of
    one, followed by scale and offset. TensorFlow's graph optimizer replaces only this
    form of layer normalization over variables by a single oneDNN kernel. For other
    engines it is written out.

    Under JAX its gradient is written out: XLA reads the rows once more if the mean and
    the variance are differentiated separately. All other inputs use Keras's own
    implementation.

    Args:
        epsilon: Added to the variance.
        **kwargs: The other arguments of `keras.layers.LayerNormalization`.

    Call arguments:
        inputs: Floats of shape `(..., H)`.

    Output shape:
        The shape of `inputs`.

    Reference: [Ba et al., 2016](https://arxiv.org/abs/1607.06450).
    """

    def __init__(self, epsilon: float = 1e-12, **kwargs: Any) -> None:
        check_above_zero("epsilon", epsilon)
        super().__init__(epsilon=epsilon, **kwargs)

    @property
    def is_usual(self) -> bool:
        """Whether it scales, over the last axis: what the forms here compute."""
        return self.scale and self.axis in (-1, [-1])  # a list, once it is built

    def call(self, inputs):
        if not self.is_usual:
            return super().call(inputs)
        inputs = ops.cast(inputs, self.compute_dtype)  # as Keras does, in `call`
        if keras.backend.backend() == "jax":
            gamma = ops.convert_to_tensor(self.gamma, "float32")
            beta = self.beta if self.center else ops.zeros_like(gamma)
            beta = ops.convert_to_tensor(beta, "float32")
            return _lean(inputs, gamma, beta, self.epsilon)
        if traced_for_engine():
            return self.written_out(inputs)
        if not _fuses(inputs):
            return super().call(inputs)
        import tensorflow as tf

        normalize = _normalizer(self.epsilon)
        gamma = self.gamma.value
        beta = self.beta.value if self.center else tf.zeros_like(gamma)
        outputs = normalize(inputs, gamma, beta)
        return tf.ensure_shape(outputs, inputs.shape)

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs.shape, dtype=self.compute_dtype)

    def compute_output_shape(self, inputs_shape):
        return inputs_shape

    def written_out(self, inputs):
        """Normalizes by the operations that OpenVINO fuses into one, axes included."""
        import tensorflow as tf

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
    import tensorflow as tf

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
    if keras.backend.backend() != "tensorflow" or len(inputs.shape) != 2:
        return False
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    return inputs.dtype == tf.float32 and not gpus
