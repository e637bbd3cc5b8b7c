"""Gradients of tables, as optimizers see them."""

import keras
import tensorflow as tf


class WholeGradients(keras.optimizers.Optimizer):
    """Lets an optimizer of Keras see the gradient of a table as one tensor.

    Under TensorFlow Keras has it in pieces, one for each id that was looked up. It
    takes the norm of the pieces for `global_clipnorm`, and LAMB squares each of an
    id's pieces, not their sum.
    """

    def apply(self, grads, trainable_variables=None) -> None:
        super().apply([_whole(x) for x in grads], trainable_variables)


def _whole(gradient):
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows = gradient.dense_shape[0]
    return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, rows)
