"""Dense gradients of embedding tables for optimizers."""

import keras
import tensorflow as tf


class WholeGradients(keras.optimizers.Optimizer):
    """Converts gradients of embedding tables to dense tensors for an optimizer.

    With TensorFlow they are `IndexedSlices`, one slice per looked-up id, and an id
    may occur more than once. `global_clipnorm` would use the norm of the slices, and
    LAMB would square each slice instead of their sum.
    """

    def apply(self, grads, trainable_variables=None) -> None:
        super().apply([_whole(x) for x in grads], trainable_variables)


def _whole(gradient):
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows = gradient.dense_shape[0]
    return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, rows)
