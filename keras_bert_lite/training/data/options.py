"""`tf.data` options of this package's data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.parallel import whole_batches

AUTOTUNE = -1  # `tf.data.AUTOTUNE`


def without_tuning(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Turns off autotuning for a data set and those derived from it.

    With autotuning, the end of an epoch may hang for up to a minute: TensorFlow wakes
    the tuning thread before it marks the iterator as deleted (2.21: 8 of 60
    iterators, 16 to 60 seconds each). Without it `tf.data.AUTOTUNE` uses all cores.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def mapped(
    dataset: tf.data.Dataset,
    function: Callable[..., Any],
    num_parallel_calls: int | None = AUTOTUNE,
) -> tf.data.Dataset:
    """Maps a function that has no Python control flow on tensors.

    AutoGraph, which would convert all that the function calls, takes longer than
    the tracing itself. `tf.data` runs calls in parallel, so tokenizers need not.
    """

    @tf.autograph.experimental.do_not_convert
    def whole(*elements: Any) -> Any:
        with whole_batches():
            return function(*elements)

    return dataset.map(whole, num_parallel_calls)
