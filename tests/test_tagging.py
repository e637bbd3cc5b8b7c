"""Tag schemes, with seqeval as the judge of chunks."""

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert_lite import tagging
from tests.conformance import to_numpy

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]
BIOES = ["O", *(f"{p}-{t}" for t in ("PER", "LOC") for p in "BIES")]
BARE = ["O", "B", "I"]
SCHEMES = {"bio": BIO, "bioes": BIOES, "bare": BARE}


def spans(tags, mask, labels):
    """For each row, the chunks as seqeval writes them."""
    found = [to_numpy(x) for x in tagging.chunks(tags, mask, labels)]
    names = tagging.chunk_types(labels)
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
    moved, x = tagging.compact(mask, np.arange(10).reshape(2, 5))
    assert to_numpy(moved).tolist() == [[True] * 3 + [False] * 2, [False] * 5]
    assert to_numpy(x).tolist() == [[1, 3, 4, 0, 2], [5, 6, 7, 8, 9]]


def test_bio_transitions():
    labels = ["O", "B-X", "I-X", "I-Y", "B-Y"]
    allowed = tagging.allowed_transitions(labels)
    assert allowed.pairs.astype(int).tolist() == [
        [1, 1, 0, 0, 1],
        [1, 1, 1, 0, 1],
        [1, 1, 1, 0, 1],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]
    assert allowed.starts.tolist() == [True, True, False, False, True]
    assert allowed.ends.all()


@pytest.mark.parametrize(("last", "only"), ["ES", "LU"])
def test_bioes_transitions(last, only):
    labels = ["O", "B-X", "I-X", f"{last}-X", f"{only}-X", f"{last}-Y", "B-Y"]
    allowed = tagging.allowed_transitions(labels)
    closed = [1, 1, 0, 0, 1, 0, 1]
    within = [0, 0, 1, 1, 0, 0, 0]
    assert allowed.pairs.astype(int).tolist() == [
        closed,
        within,
        within,
        closed,
        closed,
        closed,
        [0, 0, 0, 0, 0, 1, 0],
    ]
    assert allowed.starts.astype(int).tolist() == closed
    assert allowed.ends.astype(int).tolist() == [1, 0, 0, 1, 1, 1, 0]


def test_inside_may_begin_where_no_label_begins():
    allowed = tagging.allowed_transitions(["O", "I-X", "I-Y"])
    assert allowed.pairs.all()
    assert allowed.starts.all()


def test_labels_without_a_scheme_allow_everything():
    labels = ["NOUN", "VERB", "I", "O"]
    assert not tagging.has_scheme(labels)
    assert all(x.all() for x in tagging.allowed_transitions(labels))


@pytest.mark.parametrize("labels", [BIO, BIOES])
def test_allowed_paths_are_those_that_spell_themselves(labels):
    """A sequence keeps to its scheme exactly if rewriting it changes nothing."""
    rewrite = tagging.to_bio if labels is BIO else tagging.to_bioes
    allowed = tagging.allowed_transitions(labels)
    generator = np.random.default_rng(0)
    outcomes = set()
    for row in generator.integers(0, len(labels), (3000, 3)):
        fits = allowed.starts[row[0]] and allowed.ends[row[-1]]
        fits = bool(fits and allowed.pairs[row[:-1], row[1:]].all())
        tags = [labels[i] for i in row]
        assert fits == (rewrite(tags) == tags)
        outcomes.add(fits)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("tags", "bio", "bioes"),
    [
        ("", "", ""),
        ("I-X I-X O I-Y", "B-X I-X O B-Y", "B-X E-X O S-Y"),
        ("I-X B-X I-X I-Y", "B-X B-X I-X B-Y", "S-X B-X E-X S-Y"),
        ("B-X I-X I-X", "B-X I-X I-X", "B-X I-X E-X"),
        ("U-X B-X L-X L-X", "B-X B-X I-X B-X", "S-X B-X E-X S-X"),
        ("I I B O", "B I B O", "B E S O"),
    ],
)
def test_rewrites_iob1_and_others(tags, bio, bioes):
    assert tagging.to_bio(tags.split()) == bio.split()
    assert tagging.to_bioes(tags.split()) == bioes.split()
    assert tagging.to_bioes(bio.split()) == bioes.split()


@pytest.mark.parametrize("rewrite", [tagging.to_bio, tagging.to_bioes])
def test_rewriting_keeps_the_chunks(rewrite):
    generator = np.random.default_rng(0)
    for row in generator.integers(0, len(BIOES), (300, 10)):
        tags = [BIOES[i] for i in row]
        assert get_entities(rewrite(tags)) == get_entities(tags)


def test_types_are_sorted():
    assert tagging.chunk_types(BIO) == ["A-B", "LOC", "PER"]
    assert tagging.chunk_types(BARE) == ["_"]


def test_refuses_what_is_no_tag():
    with pytest.raises(ValueError, match=r"`tags` must be 'O' or .* Received: 'NOUN'"):
        tagging.to_bio(["O", "NOUN"])
    with pytest.raises(ValueError, match=r"`labels` must be 'O' or .* Received: 'X'"):
        tagging.allowed_transitions(["O", "B-PER", "X"])
    with pytest.raises(
        ValueError, match=r"`labels` must be 'O' or .* Received: 'VERB'"
    ):
        tagging.chunks(np.zeros((1, 1)), np.ones((1, 1), bool), ["VERB", "NOUN"])
