"""BM25 in the graph equals BM25 in Python."""

import numpy as np
import pytest

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.search.words import (
    Words,
    best_by_words,
    standardized,
    word_hashes,
    word_table,
)
from keras_bert_lite.training.bm25 import BM25

pytestmark = pytest.mark.tensorflow(reason="an index is a SavedModel")
TEXTS = [
    "the house, the HOUSE!",
    "Ärger im Haus",
    "x_1 y2 na\u00efve caf\u00e9 re-use don't",
    "\u0130stanbul \u03a3\u0391\u03a3 \u1e9e",  # longer in lower case, or others
    "\u216b \u00bd \u0663 \u4e2d\u6587 \u5b57 \u0e20\u0e32\u0e29\u0e32",
    "e\u0301 a\u0308b",  # a combining mark ends a word
    "...",
    "a house of cards",
]


def words(texts):
    return Words({name: tf.Variable(x) for name, x in word_table(texts).items()})


@pytest.mark.parametrize("query", [*TEXTS, "", "house house the", "no such"])
def test_scores_are_those_of_python(query):
    (expected,) = BM25(TEXTS).all_scores([query])
    hashes = word_hashes(tf.constant([query]))[0]
    scores = words(TEXTS).scores(hashes, tf.constant(len(TEXTS)))
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_texts_without_words():
    found = words(["...", "!"])
    hashes = word_hashes(tf.constant(["a word"]))[0]
    np.testing.assert_array_equal(found.scores(hashes, tf.constant(2)), [0, 0])


def test_each_query_has_words_of_its_own():
    hashes = word_hashes(tf.constant(["The house", "", "the"]))
    assert [len(x) for x in hashes.to_list()] == [2, 0, 1]
    assert hashes[0][0] == hashes[2][0]


def test_only_texts_that_share_a_word_are_found():
    places, scores = best_by_words(tf.constant([0.0, 2, 0, 1]), 3)
    np.testing.assert_array_equal(places, [1, 3, -1])
    np.testing.assert_array_equal(scores, [2, 1, -np.inf])


def test_standardized_by_all_texts():
    every = tf.constant([0.0, 0, 3, 1])
    expected = (3 - 1) / np.std([0, 0, 3, 1])
    np.testing.assert_allclose(standardized(every, tf.constant([3.0])), [expected])
    np.testing.assert_array_equal(standardized(tf.zeros(4), tf.zeros(2)), [0, 0])
