import itertools
import random

import numpy as np
import pytest

from keras_bert_lite.pretraining.data import segments

FAR = 100_000  # from the begin of a document to that of the next one


def document(number, lengths):
    """The places of sentences of these lengths."""
    return list(itertools.accumulate(lengths, initial=number * FAR))


def corpus(documents=200, seed=0):
    rng = np.random.default_rng(seed)
    return [
        document(i, rng.integers(1, 40, rng.integers(1, 30)).tolist())
        for i in range(documents)
    ]


def rng():
    return random.Random(1)


def size(span):
    return span[1] - span[0]


def places(spans):
    return np.unique(np.concatenate([np.arange(*span) for span in spans]))


def test_next_sentence_pairs():
    pairs = list(segments.next_sentence_pairs(corpus(), 61, 0.1, rng()))
    labels = np.array([pair.label for pair in pairs])
    assert abs(labels.mean() - 0.5) < 2 / np.sqrt(len(labels))
    for pair in pairs:
        assert size(pair.first) > 0
        assert size(pair.second) > 0
        assert size(pair.first) + size(pair.second) <= 61
        same = pair.first[0] // FAR == pair.second[0] // FAR
        assert same == (pair.label == 0)
        if same:
            assert pair.first[1] <= pair.second[0]
    used = places([span for pair in pairs for span in pair[:2]])
    tokens = sum(document[-1] - document[0] for document in corpus())
    assert len(used) > 0.85 * tokens  # the rest was cut from the ends of segments


def test_what_does_not_follow_is_used_in_the_next_row():
    both = [document(0, [10] * 50), document(1, [10])]
    pairs = list(segments.next_sentence_pairs(both, 40, 0.0, rng()))
    firsts = [pair.first for pair in pairs if pair.first[0] < FAR]
    seconds = [p.second for p in pairs if p.label == 0 and p.second[0] < FAR]
    np.testing.assert_array_equal(places(firsts + seconds), np.arange(500))


@pytest.mark.parametrize(
    "make", [segments.next_sentence_pairs, segments.sentence_order_pairs]
)
def test_what_is_too_long_is_cut_at_both_ends_alike(make):
    """By a coin for each token."""
    pairs = make([document(0, [100] * 400)], 60, 0.0, rng())
    spans = [span for pair in pairs for span in pair[:2] if size(span) < 100]
    assert len(spans) > 300
    front = sum(begin % 100 for begin, _ in spans)
    back = sum(-end % 100 for _, end in spans)
    assert abs(front / (front + back) - 0.5) < 0.02
    assert sum(begin % 100 == 0 for begin, _ in spans) < 0.01 * len(spans)


def test_sentence_order_pairs():
    pairs = list(segments.sentence_order_pairs(corpus(), 61, 0.1, rng()))
    labels = np.array([pair.label for pair in pairs])
    assert abs(labels.mean() - 0.5) < 2 / np.sqrt(len(labels))
    for pair in pairs:
        assert size(pair.first) + size(pair.second) <= 61
        assert pair.first[0] // FAR == pair.second[0] // FAR
        assert (pair.first[0] > pair.second[0]) == (pair.label == 1)


@pytest.mark.parametrize("fill", [False, True])
@pytest.mark.parametrize("short_share", [0.0, 0.5])
def test_full_sentences_lose_nothing(short_share, fill):
    documents = corpus()
    spans = list(segments.full_sentences(documents, 61, short_share, rng(), fill))
    assert max(map(size, spans)) <= 61
    whole = [np.arange(document[0], document[-1]) for document in documents]
    found = [np.arange(*span) for span in spans]
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(whole))
    if not short_share and not fill:  # no sentence is over 61
        assert {end for _, end in spans} < {x for each in documents for x in each}


def test_long_sentences_are_cut():
    spans = list(segments.full_sentences([document(0, [100, 5])], 30, 0.0, rng()))
    assert [size(span) for span in spans] == [30, 30, 30, 15]


def test_segments_that_are_filled():
    documents = [document(0, [10] * 10)]
    spans = list(segments.full_sentences(documents, 32, 0.0, rng(), fill=True))
    assert [size(span) for span in spans] == [32, 32, 32, 4]


def test_short_rows():
    pairs = list(segments.sentence_order_pairs(corpus(500), 125, 0.1, rng()))
    aimed = [size(pair.first) + size(pair.second) for pair in pairs]
    assert 0.05 < np.mean(np.array(aimed) < 80) < 0.35  # ends of documents too


def test_packed_rows_are_full():
    sizes = np.random.default_rng(0).integers(3, 65, 2000).tolist()
    rows = segments.packed(sizes, 64)
    assert all(sum(sizes[i] for i in row) <= 64 for row in rows)
    assert sorted(i for row in rows for i in row) == list(range(2000))
    assert sum(sizes) / (64 * len(rows)) > 0.97


def test_one_document_goes_on_anywhere():
    alone = [document(0, [10] * 50)]
    pairs = list(segments.next_sentence_pairs(alone, 40, 0.0, rng()))
    assert {pair.label for pair in pairs} == {0, 1}


@pytest.mark.parametrize(
    "make", [segments.next_sentence_pairs, segments.sentence_order_pairs]
)
def test_documents_of_a_few_tokens(make):
    documents = [document(i, lengths) for i, lengths in enumerate([[1], [2], [1, 1]])]
    for seed in range(20):
        for pair in make(documents, 9, 0.1, random.Random(seed)):
            assert size(pair.first) > 0
            assert size(pair.second) > 0
