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
    # By comparison, not by a gather.
    chosen = _classes(logits) == ops.cast(targets, "int32")[..., None]
    scores = ops.sum(ops.where(chosen, logits, 0.0), axis=-1)
    return ops.logsumexp(logits, axis=-1) - scores


def hits(targets, logits):
    """Returns 1 where the target has the highest score, the first of equal ones."""
    if keras.backend.backend() != "jax":
        best = ops.cast(ops.argmax(logits, axis=-1), "int32")
        return ops.cast(ops.equal(best, ops.cast(targets, "int32")), "float32")
    logits = ops.cast(logits, "float32")
    classes, targets = _classes(logits), ops.cast(targets, "int32")[..., None]
    # A float sum over the highest up to the target, 1 only if that is the first of
    # them: XLA makes it in the pass of the loss's sums, but not the least index.
    highest = logits == ops.max(logits, axis=-1, keepdims=True)
    values = ops.where(classes < targets, 2.0, ops.where(classes == targets, 1.0, 0.0))
    first = ops.sum(ops.where(highest, values, 0.0), axis=-1) == 1.0
    return ops.cast(first, "float32")


def update_mean(mean, values, weights):
    """Adds values to a `keras.metrics.Mean`, each with its own weight.

    Keras averages the values `(B, S)` of each row first, so that those of batches with
    long rows would count less. Weights `(B,)` count for all values of their row.
    """
    if weights is not None:
        weights = ops.convert_to_tensor(weights)
        for _ in range(len(values.shape) - len(weights.shape)):
            weights = weights[..., None]
        weights = ops.reshape(ops.broadcast_to(weights, ops.shape(values)), (-1,))
    return keras.metrics.Mean.update_state(mean, ops.reshape(values, (-1,)), weights)


def _classes(logits):
    return ops.arange(logits.shape[-1], dtype="int32")
