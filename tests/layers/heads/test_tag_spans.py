"""Spans in rows of tags, with seqeval as the judge."""

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert_lite import tagging
from keras_bert_lite.layers.heads.tag_spans import compact, tag_spans
from tests.conformance import to_numpy
from tests.labels import BARE, BIO, BIOES

SCHEMES = {"bio": BIO, "bioes": BIOES, "bare": BARE}


def spans(tags, mask, labels):
    """For each row, the spans as seqeval writes them."""
    found = [to_numpy(x) for x in tag_spans(tags, mask, labels)]
    names = tagging.span_types(labels)
    assert not found[1][~found[0]].any()
    assert not found[2][~found[0]].any()
    return [
        [(names[types[i]], i, ends[i]) for i in np.flatnonzero(begins)]
        for begins, ends, types in zip(*found, strict=True)
    ]


def expected_spans(tags, mask, labels):
    """What seqeval reads from the true positions, as positions of the row."""
    rows = []
    for row, real in zip(tags, mask, strict=True):
        at = np.flatnonzero(real)
        found = get_entities([labels[i] for i in row[at]])
        rows.append([(kind, at[first], at[last]) for kind, first, last in found])
    return rows


@pytest.mark.parametrize("labels", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_chunks_are_those_of_seqeval(labels, share):
    generator = np.random.default_rng(0)
    tags = generator.integers(0, len(labels), (2000, 12))
    mask = generator.random(tags.shape) <= share
    tags = np.where(mask, tags, -100)
    assert spans(tags, mask, labels) == expected_spans(tags, mask, labels)


def test_chunks_of_one_position_and_of_none():
    tags = np.array([[1], [2], [0], [1]])
    mask = np.array([[True], [True], [True], [False]])
    assert spans(tags, mask, BIO) == [[("PER", 0, 0)], [("PER", 0, 0)], [], []]


def test_bilou_is_read_as_bioes():
    labels = ["O", "B-X", "I-X", "L-X", "U-X"]
    tags = np.array([[1, 2, 3, 4, 3, 0, 4]])
    found = spans(tags, np.ones(tags.shape, bool), labels)
    assert found == [[("X", 0, 2), ("X", 3, 3), ("X", 4, 4), ("X", 6, 6)]]


def test_compact_moves_true_positions_to_the_front():
    mask = np.array([[0, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    moved, x = compact(mask, np.arange(10).reshape(2, 5))
    assert to_numpy(moved).tolist() == [[True] * 3 + [False] * 2, [False] * 5]
    assert to_numpy(x).tolist() == [[1, 3, 4, 0, 2], [5, 6, 7, 8, 9]]
