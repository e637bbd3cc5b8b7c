"""Dense gradients of embedding tables, and gradients of several devices."""

from typing import Any

import keras

from keras_bert_lite._tensorflow import tf


class WholeGradients(keras.optimizers.Optimizer):
    """Converts gradients of embedding tables to dense tensors for an optimizer.

    With TensorFlow they are `IndexedSlices`, one slice per looked-up id, and an id
    may occur more than once. `global_clipnorm` would use the norm of the slices, and
    LAMB would square each slice instead of their sum.

    Under `tf.distribute.MirroredStrategy`, the sum of the devices' gradients is
    clipped, as on one device. Keras clips those of each device, then sums.
    """

    def apply(self, grads, trainable_variables=None) -> None:
        super().apply([_whole(x) for x in grads], trainable_variables)

    def _clip_gradients(self, grads) -> list[Any]:
        dtypes = {x.dtype for x in grads if x is not None}
        if len(dtypes) > 1:  # a CRF has float32 weights, whatever the others have
            wide = keras.backend.result_type(*dtypes)
            clipped = self._clip_gradients([_cast(x, wide) for x in grads])
            pairs = zip(clipped, grads, strict=True)
            return [None if x is None else _cast(x, y.dtype) for x, y in pairs]
        replicas = _replicas()
        if replicas == 1 or not self._clips():
            return super()._clip_gradients(grads)
        clipped = super()._clip_gradients(_summed(grads))
        # Keras sums them over the devices, which now have the same.
        return [None if x is None else x / replicas for x in clipped]

    def _clips(self) -> bool:
        return bool(self.global_clipnorm or self.clipnorm or self.clipvalue)


def _cast(gradient, dtype):
    return None if gradient is None else keras.ops.cast(gradient, dtype)


def _replicas() -> int:
    """Returns the number of devices that compute the same step beside this one."""
    if (
        keras.backend.backend() != "tensorflow"
        or tf.distribute.in_cross_replica_context()
    ):
        return 1
    return tf.distribute.get_strategy().num_replicas_in_sync


def _summed(grads: list[Any]) -> list[Any]:
    context = tf.distribute.get_replica_context()
    there = [x for x in grads if x is not None]
    summed = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, there))
    return [None if x is None else next(summed) for x in grads]


def _whole(gradient):
    if keras.backend.backend() != "tensorflow":
        return gradient
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows = gradient.dense_shape[0]
    return tf.math.unsorted_segment_sum(gradient.values, gradient.indices, rows)
