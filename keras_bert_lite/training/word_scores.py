"""Cross-entropy and accuracy of scores over a vocabulary.

TensorFlow has kernels for both. Under JAX they are written so that a compiler makes
one pass of the maximum, the sum and the target's score, for the loss and all metrics;
Keras's own compare with one-hot vectors, which are stored.
"""

import keras
from keras import ops


def cross_entropy(targets, logits):
    """Returns `log(sum(exp(logits))) - logits[target]`, float32.

    Args:
        targets: Integers of shape `(...)`.
        logits: Of shape `(..., V)`.
    """
    logits = ops.cast(logits, "float32")
    if keras.backend.backend() != "jax":
        return ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
    return ops.logsumexp(logits, axis=-1) - _score(targets, logits)[..., 0]


def hits(targets, logits):
    """Returns 1 where the target has the highest score, the first of equal ones."""
    if keras.backend.backend() != "jax":
        best = ops.cast(ops.argmax(logits, axis=-1), "int32")
        return ops.cast(ops.equal(best, ops.cast(targets, "int32")), "float32")
    logits = ops.cast(logits, "float32")
    score = _score(targets, logits)
    before = _classes(logits) < ops.cast(targets, "int32")[..., None]
    below = ops.where(before, logits < score, logits <= score)  # false for NaN
    return ops.cast(ops.all(below, axis=-1), "float32")


def _score(targets, logits):
    """Returns the score of each target, `(..., 1)`, by comparison, not by a gather."""
    chosen = _classes(logits) == ops.cast(targets, "int32")[..., None]
    return ops.sum(ops.where(chosen, logits, 0.0), axis=-1, keepdims=True)


def _classes(logits):
    return ops.arange(logits.shape[-1], dtype="int32")
