"""How tf.data runs this package's data sets."""

from collections.abc import Callable
from typing import Any

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


def mapped(
    dataset: tf.data.Dataset,
    function: Callable[..., Any],
    num_parallel_calls: int | None = tf.data.AUTOTUNE,
) -> tf.data.Dataset:
    """Maps a function that has no Python control flow on tensors.

    AutoGraph, which would convert all that the function calls, takes longer than
    the tracing itself.
    """
    function = tf.autograph.experimental.do_not_convert(function)
    return dataset.map(function, num_parallel_calls)
