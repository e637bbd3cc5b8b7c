"""Tokenizes large batches on several cores."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
from collections.abc import Callable, Iterator

from keras_bert_lite._tensorflow import tf

SHARDS = 4  # the maximum number of cores
LARGE = 512  # strings; for smaller batches, the overhead exceeds the gain
_whole = contextvars.ContextVar("whole", default=False)


@contextlib.contextmanager
def whole_batches() -> Iterator[None]:
    """Traces tokenizers without shards, where batches run in parallel anyway."""
    token = _whole.set(True)
    try:
        yield
    finally:
        _whole.reset(token)


def in_shards(
    tokenize: Callable[[tf.Tensor], tf.RaggedTensor], strings: tf.Tensor
) -> tf.RaggedTensor:
    """Returns `tokenize(strings)`; in a graph, uses up to four cores.

    tensorflow-text's ops use one core per call; the shards of a large batch run
    in parallel. Each has its own operations, because calls of one function that
    holds a resource, such as BPE's model, wait for each other.
    """
    if tf.executing_eagerly() or _whole.get():
        return tokenize(strings)

    def sharded() -> tf.RaggedTensor:
        bounds = [tf.size(strings) * i // SHARDS for i in range(SHARDS + 1)]
        shards = [
            tokenize(strings[first:end]) for first, end in itertools.pairwise(bounds)
        ]
        return tf.RaggedTensor.from_row_lengths(
            tf.concat([shard.values for shard in shards], 0),
            tf.concat([shard.row_lengths() for shard in shards], 0),
            validate=False,
        )

    large = tf.size(strings) >= LARGE
    return tf.cond(large, sharded, lambda: tokenize(strings))
