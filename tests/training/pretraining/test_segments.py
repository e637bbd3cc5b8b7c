import numpy as np
import pytest

from keras_bert_lite.training.pretraining import segments
from keras_bert_lite.training.pretraining.segments import Document


def document(number, lengths):
    """Each token tells its document and its place."""
    ends = np.cumsum(lengths)
    return Document((number * 100_000 + np.arange(ends[-1])).astype(np.int32), ends)


def corpus(documents=200, seed=0):
    rng = np.random.default_rng(seed)
    return [
        document(i, rng.integers(1, 40, rng.integers(1, 30))) for i in range(documents)
    ]


def rng():
    return np.random.default_rng(1)


def whole(ids):
    """Whether tokens stand one behind the other."""
    return (np.diff(ids) == 1).all()


def test_next_sentence_pairs():
    pairs = list(segments.next_sentence_pairs(corpus(), 61, 0.1, rng()))
    labels = np.array([pair.label for pair in pairs])
    assert abs(labels.mean() - 0.5) < 2 / np.sqrt(len(labels))
    for pair in pairs:
        assert len(pair.first)
        assert len(pair.second)
        assert len(pair.first) + len(pair.second) <= 61
        assert whole(pair.first)
        assert whole(pair.second)
        same = pair.first[0] // 100_000 == pair.second[0] // 100_000
        assert same == (pair.label == 0)
        if same:
            assert pair.first[-1] < pair.second[0]
    used = {x for pair in pairs for part in pair[:2] for x in part.tolist()}
    tokens = sum(len(document.ids) for document in corpus())
    assert len(used) > 0.85 * tokens  # the rest was cut from the ends of segments


def test_what_does_not_follow_is_used_in_the_next_row():
    long = document(0, [10] * 50)
    pairs = list(
        segments.next_sentence_pairs([long, document(1, [10])], 40, 0.0, rng())
    )
    firsts = [pair.first for pair in pairs if pair.first[0] < 100_000]
    seconds = [p.second for p in pairs if p.label == 0 and p.second[0] < 100_000]
    used = np.unique(np.concatenate(firsts + seconds))
    np.testing.assert_array_equal(used, long.ids)


def test_sentence_order_pairs():
    pairs = list(segments.sentence_order_pairs(corpus(), 61, 0.1, rng()))
    labels = np.array([pair.label for pair in pairs])
    assert abs(labels.mean() - 0.5) < 2 / np.sqrt(len(labels))
    for pair in pairs:
        assert len(pair.first) + len(pair.second) <= 61
        assert pair.first[0] // 100_000 == pair.second[0] // 100_000
        assert (pair.first[0] > pair.second[0]) == (pair.label == 1)


@pytest.mark.parametrize("short_share", [0.0, 0.5])
def test_full_sentences_lose_nothing(short_share):
    documents = corpus()
    rows = list(segments.full_sentences(documents, 61, short_share, rng()))
    assert max(map(len, rows)) <= 61
    ids = np.concatenate([document.ids for document in documents])
    np.testing.assert_array_equal(np.concatenate(rows), ids)
    ends = {int(d.ids[0] + end) for d in documents for end in d.ends}
    if not short_share:  # no sentence is over 61
        assert all(int(row[-1]) + 1 in ends for row in rows)


def test_long_sentences_are_cut():
    rows = list(segments.full_sentences([document(0, [100, 5])], 30, 0.0, rng()))
    assert [len(row) for row in rows] == [30, 30, 30, 15]


def test_short_rows():
    pairs = list(segments.sentence_order_pairs(corpus(500), 125, 0.1, rng()))
    aimed = [len(p.first) + len(p.second) for p in pairs]
    assert 0.05 < np.mean(np.array(aimed) < 80) < 0.35  # ends of documents too


def test_packed_rows_are_full():
    sizes = np.random.default_rng(0).integers(3, 65, 2000)
    parts = [np.full(size, i) for i, size in enumerate(sizes)]
    rows = segments.packed(parts, 64)
    assert all(sum(map(len, row)) <= 64 for row in rows)
    assert sorted(part[0] for row in rows for part in row) == list(range(2000))
    assert sizes.sum() / (64 * len(rows)) > 0.97


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
        for pair in make(documents, 9, 0.1, np.random.default_rng(seed)):
            assert len(pair.first)
            assert len(pair.second)
