"""How tf.data runs this package's data sets."""

import tensorflow as tf


def without_tuning(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Turns the thread off that tunes a data set, and all that is built on it.

    With it the end of an epoch may wait for up to a minute: TensorFlow wakes the
    thread before it marks the iterator as gone (2.21: 8 of 60 iterators, 16 to 60
    seconds each). Without it `tf.data.AUTOTUNE` means all cores.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
