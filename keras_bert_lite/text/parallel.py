"""Large batches on more than one core."""

from collections.abc import Callable

import tensorflow as tf

SHARD = 256  # strings; smaller shards cost more than a second core gains


def in_shards(
    tokenize: Callable[[tf.Tensor], tf.RaggedTensor], strings: tf.Tensor
) -> tf.RaggedTensor:
    """Returns `tokenize(strings)`, computed a shard of the batch at a time.

    tensorflow-text's ops use one core a call. In a graph, the shards of a large
    batch run side by side.
    """
    if tf.executing_eagerly():
        return tokenize(strings)

    def sharded() -> tf.RaggedTensor:
        shards = tf.map_fn(
            lambda start: tokenize(strings[start : start + SHARD]),
            tf.range(0, tf.size(strings), SHARD),
            fn_output_signature=tf.RaggedTensorSpec([None, None], tf.int32, 1),
        )
        return shards.merge_dims(0, 1)

    large = tf.size(strings) > 2 * SHARD
    return tf.cond(large, sharded, lambda: tokenize(strings))
