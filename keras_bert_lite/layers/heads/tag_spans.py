"""Spans in rows of tags."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from keras_bert_lite.tagging import parse_tags, span_types


class TagSpans(NamedTuple):
    """The spans of rows of tags; each array has the shape `(B, S)`.

    `begins` is true at the first position of a span. There, `ends` is its last
    position and `types` its type, an index into `span_types`. Both are 0 elsewhere.
    """

    begins: Any
    ends: Any
    types: Any


def compact(mask, *tensors):
    """Moves the positions where the mask is true to the front, in order.

    Args:
        mask: Booleans of shape `(B, S)`.
        *tensors: Tensors of shape `(B, S)`.

    Returns:
        The permuted mask and tensors; the other positions follow the real ones.
    """
    position = ops.arange(ops.shape(mask)[1], dtype="int32")
    order = ops.argsort(ops.where(mask, position, position + 2**30), axis=1)
    return tuple(ops.take_along_axis(x, order, axis=1) for x in (mask, *tensors))


def tag_spans(tags, mask, labels: Sequence[str]) -> TagSpans:
    """Finds the spans in rows of tags, like the official scorer.

    Invalid sequences are read leniently: an `I` or `E` that does not continue the span
    before it begins a new one.

    Args:
        tags: Indices into `labels`, of shape `(B, S)`.
        mask: Booleans of shape `(B, S)`. False positions are skipped, wherever they
            are.
        labels: The names of the labels.

    Returns:
        The `TagSpans`, with positions that include the false ones.

    Raises:
        ValueError: If a label has no prefix.

    Reference: [Tjong Kim Sang and De Meulder, 2003](
    https://aclanthology.org/W03-0419/), whose `conlleval` seqeval follows.
    """
    parsed, names = parse_tags(labels, "labels"), span_types(labels)
    codes = np.array([names.index(x.type) if x.type else -1 for x in parsed], "int32")
    go_on = np.array([x.prefix in "IE" for x in parsed])
    stays_open = np.array([x.prefix in "BI" for x in parsed])
    mask = ops.cast(mask, "bool")
    tags = ops.where(mask, ops.cast(tags, "int32"), 0)
    positions = ops.broadcast_to(
        ops.arange(ops.shape(tags)[1], dtype="int32"), ops.shape(tags)
    )
    real, tags, positions = compact(mask, tags, positions)
    types = ops.take(codes, tags)
    inside = ops.logical_and(real, types >= 0)
    joined = ops.take(go_on, tags)[:, 1:] & ops.take(stays_open, tags)[:, :-1]
    joined = joined & (types[:, 1:] == types[:, :-1]) & real[:, 1:]
    apart = ops.logical_not(joined)
    edge = ops.ones_like(real[:, :1])
    begins = inside & ops.concatenate([edge, apart], axis=1)
    closes = inside & ops.concatenate([apart, edge], axis=1)
    _, lasts = compact(closes, positions)
    ends = _at(lasts, _count(begins))  # the n-th span has the n-th end
    count = _count(mask)
    begins = mask & _at(begins, count)
    return TagSpans(
        begins,
        ops.where(begins, _at(ends, count), 0),
        ops.where(begins, _at(types, count), 0),
    )


def _count(mask):
    return ops.cumsum(ops.cast(mask, "int32"), axis=1)


def _at(x, count):
    """Returns `x` at the `count`-th positions, from 1: (B, S)."""
    return ops.take_along_axis(x, ops.maximum(count - 1, 0), axis=1)
