"""Tag schemes, with seqeval as the judge of spans."""

import numpy as np
import pytest
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert_lite import tagging
from tests.labels import BARE, BIO, BIOES

SCHEMES = {"bio": BIO, "bioes": BIOES, "bare": BARE}


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
def test_rewriting_keeps_the_spans(rewrite):
    generator = np.random.default_rng(0)
    for row in generator.integers(0, len(BIOES), (300, 10)):
        tags = [BIOES[i] for i in row]
        assert get_entities(rewrite(tags)) == get_entities(tags)


def test_types_are_sorted():
    assert tagging.span_types(BIO) == ["A-B", "LOC", "PER"]
    assert tagging.span_types(BARE) == ["_"]


def test_refuses_what_is_no_tag():
    with pytest.raises(ValueError, match=r"`tags` must be 'O' or .* Received: 'NOUN'"):
        tagging.to_bio(["O", "NOUN"])
    with pytest.raises(ValueError, match=r"`labels` must be 'O' or .* Received: 'X'"):
        tagging.allowed_transitions(["O", "B-PER", "X"])
    with pytest.raises(
        ValueError, match=r"`labels` must be 'O' or .* Received: 'VERB'"
    ):
        tagging.span_types(["VERB", "NOUN"])


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["B-X", "M-X", "E-X", "S-Y"], ["B-X", "I-X", "I-X", "B-Y"]),
        (["X-B", "X-M", "X-E", "Y-S"], ["B-X", "I-X", "I-X", "B-Y"]),
        (["b-X", "i-X", "o", "b-Y"], ["B-X", "I-X", "O", "B-Y"]),
        (["B", "M", "E", "S"], ["B", "I", "I", "B"]),  # words of Chinese
        (["B-X-B", "I-X-B", "E-X-B", "S-Y"], ["B-X-B", "I-X-B", "I-X-B", "B-Y"]),
    ],
)
def test_other_spellings(tags, expected):
    assert tagging.has_scheme(tags)
    assert tagging.to_bio(tags) == expected
    assert tagging.is_bio(expected)
    assert not tagging.is_bio(tags)


@pytest.mark.parametrize("labels", [["b", "s"], ["o", "x-ray"], ["O", "X-B", "NN"]])
def test_labels_that_only_look_like_tags(labels):
    assert not tagging.has_scheme(labels)


def test_refuses_two_spellings_at_once():
    with pytest.raises(ValueError, match=r"like 'B-PER', or all like 'PER-B'"):
        tagging.has_scheme(["O", "S-B", "PER-B"])
