"""Sum and maximum over all paths of a conditional random field.

A path is a label for every position. False positions of the masks, booleans of shape
`(B, S)`, are skipped wherever they are; transitions connect the true positions around
them. A row without true positions has one path, with score 0.
"""

from typing import Any, NamedTuple

from keras import ops


class CRFScores(NamedTuple):
    """The parts of a `layers.CRF`'s output, which score a path.

    `logits` `(B, S, L)`, `transitions` `(B, L, L)` [from, to], `starts` and `ends`
    `(B, L)`.
    """

    logits: Any
    transitions: Any
    starts: Any
    ends: Any


def log_partition(scores: CRFScores, mask):
    """Returns the logarithm of the sum of `exp(path_score)` over all paths, `(B,)`.

    The gradient is computed from the probabilities of labels and transitions, because
    XLA under TensorFlow cannot differentiate a loop of unknown length.
    """
    mask = ops.cast(mask, "bool")
    logits = ops.where(mask[:, :, None], scores.logits, 0.0)
    return _log_partition(logits, *scores[1:], ops.cast(mask, logits.dtype))


@ops.custom_gradient
def _log_partition(logits, transitions, starts, ends, real):
    before = _prefixes(logits, transitions, starts, real)
    some = ops.max(real, axis=1)

    def gradient(*arguments, upstream=None):
        if upstream is None:  # TensorFlow and JAX pass only it
            (upstream,) = arguments
        backwards = (ops.flip(logits, 1), ops.swapaxes(transitions, 1, 2), ends)
        after = ops.flip(_prefixes(*backwards, ops.flip(real, 1)), 1)
        scale = (upstream * some)[:, None]
        nodes = ops.softmax(before + after - logits, axis=-1)
        # `before` is constant at skipped positions, so one position back is the
        # previous real position, if there is one.
        steps = before[:, :-1, :, None] + transitions[:, None] + after[:, 1:, None]
        # Keras's softmax over two axes needs static sizes under TensorFlow.
        pairs = ops.exp(steps - ops.logsumexp(steps, axis=(2, 3), keepdims=True))
        linked = real[:, 1:] * ops.minimum(ops.cumsum(real, axis=1)[:, :-1], 1.0)
        return (
            nodes * (real * scale)[:, :, None],
            ops.einsum("bsij,bs->bij", pairs, linked * scale),
            ops.softmax(starts + after[:, 0], axis=-1) * scale,
            ops.softmax(ends + before[:, -1], axis=-1) * scale,
            ops.zeros_like(real),
        )

    return ops.logsumexp(before[:, -1] + ends, axis=-1) * some, gradient


def _prefixes(logits, transitions, starts, real):
    """Returns the log sum over all paths to each position and label, (B, S, L)."""

    def step(before, row):
        kind = row[:, -1:]
        linked = ops.logsumexp(before[:, :, None] + transitions, axis=1)
        after = ops.where(kind > 1, linked, starts) + row[:, :-1]
        after = ops.where(kind > 0, after, before)
        return after, after

    rows = _rows(logits, real)
    return ops.moveaxis(ops.scan(step, ops.zeros_like(starts), rows)[1], 0, 1)


def viterbi(scores: CRFScores, mask):
    """Returns the best path `(B, S)`, 0 where skipped, and its score `(B,)`."""
    mask = ops.cast(mask, "bool")
    best, pointers = _forwards(scores, mask)
    best = best + scores.ends
    path = _backwards(ops.cast(ops.argmax(best, axis=-1), "int32"), pointers)
    score = ops.where(ops.any(mask, axis=1), _max(best, -1), 0.0)
    return ops.where(mask, path[:, :-1], 0), score


def _forwards(scores: CRFScores, mask):
    """Returns the best scores by last label, and the labels before (S + 1, B, L)."""
    logits, transitions, starts, _ = scores
    stay = ops.broadcast_to(
        ops.arange(starts.shape[-1], dtype="int32"), ops.shape(starts)
    )

    def step(carry, row):
        before, _ = carry
        kind = row[:, -1:]
        linked = before[:, :, None] + transitions
        after = ops.where(kind > 1, _max(linked, 1), starts) + row[:, :-1]
        after = ops.where(kind > 0, after, before)
        pointers = ops.cast(ops.argmax(linked, axis=1), "int32")
        carry = (after, ops.where(kind > 1, pointers, stay))
        return carry, carry

    carry = (ops.zeros_like(starts), stay)
    # One more, skipped position: TensorFlow cannot stack the results of a loop
    # without iterations.
    rows = ops.pad(_rows(logits, mask), ((0, 1), (0, 0), (0, 0)))
    (best, _), (_, pointers) = ops.scan(step, carry, rows)
    return best, pointers


def _backwards(last, pointers):
    """Follows the pointers back from the last label: (B, S + 1)."""

    def step(label, row):
        before = ops.take_along_axis(row, label[:, None], axis=1)[:, 0]
        return before, label

    _, path = ops.scan(step, last, pointers, reverse=True)
    return ops.moveaxis(path, 0, 1)


def _max(x, axis):
    """Returns the maximum. Without `initial`, TensorFlow refuses empty batches."""
    return ops.max(x, axis=axis, initial=-1e38)


def _rows(logits, real):
    """Returns the logits and a flag, (S, B, L + 1), for a scan.

    The flag is 0 at skipped positions, 1 at the first real one and 2 at the others.
    Both are in one tensor, because Keras scans only one of unknown length under
    TensorFlow.
    """
    real = ops.cast(real, logits.dtype)
    kinds = real * ops.minimum(ops.cumsum(real, axis=1), 2.0)
    rows = ops.concatenate([logits, kinds[:, :, None]], axis=-1)
    return ops.moveaxis(rows, 1, 0)
