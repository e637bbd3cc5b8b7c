"""Batches of in-batch negatives are about one topic."""

import itertools

import numpy as np
import pytest

from keras_bert_lite.finetuning import topics as module
from keras_bert_lite.finetuning.topics import topic_batches, topics_of

ABOUT = {
    "weather": ["rain", "snow", "wind", "cold", "storm"],
    "food": ["bread", "apple", "soup", "salt", "cheese"],
    "work": ["office", "boss", "salary", "desk", "contract"],
}


def texts(count=120):
    """Pairs of texts; each is about one of three topics, in turn."""
    chance = np.random.default_rng(0)
    words = [*ABOUT.values()]
    return [
        frozenset({" ".join(chance.choice(words[i % 3], 4)) + f" {i}", f"question {i}"})
        for i in range(count)
    ]


def test_most_batches_are_about_one_topic():
    found = list(itertools.islice(topic_batches(texts(), 8, 0), 30))
    first, second = found[:15], found[15:]
    for epoch in (first, second):
        assert sorted(itertools.chain(*epoch)) == [*range(120)]
        alike = [len({i % 3 for i in batch}) == 1 for batch in epoch]
        assert np.mean(alike) > 0.7
    assert first != second
    assert found == list(itertools.islice(topic_batches(texts(), 8, 0), 30))
    assert found != list(itertools.islice(topic_batches(texts(), 8, 1), 30))


def test_batches_of_topics_take_turns():
    found = list(itertools.islice(topic_batches(texts(600), 8, 0), 75))
    topics = [batch[0] % 3 for batch in found]
    changes = np.mean([a != b for a, b in itertools.pairwise(topics)])
    assert changes > 0.5


def test_no_text_occurs_twice_in_a_batch():
    repeated = [x | {f"paragraph {i // 5}"} for i, x in enumerate(texts())]
    for batch in itertools.islice(topic_batches(repeated, 8, 0), 45):
        assert len({i // 5 for i in batch}) == len(batch) == 8


def test_other_rows_have_the_topics_of_the_sample(monkeypatch):
    monkeypatch.setattr(module, "SAMPLED", 50)
    found = topics_of(texts(), 3, 0)
    assert {len({*found[i::3].tolist()}) for i in range(3)} == {1}
    assert len({*found[:3].tolist()}) == 3


@pytest.mark.parametrize("words", [["x"], ["alone {}"], ["all"], ["\u5929", "\u6c14"]])
def test_without_shared_words_there_is_one_topic(words):
    rows = [frozenset(x.format(f"a{i}") for x in words) for i in range(64)]
    assert not topics_of(rows, 4, 0).any()


def test_few_rows_are_of_one_topic():
    batches = list(itertools.islice(topic_batches(texts(10), 4, 0), 4))
    assert all(len({*batch}) == 4 for batch in batches)
