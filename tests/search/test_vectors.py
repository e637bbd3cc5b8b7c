"""The nearest vectors, exactly and by lists, in every precision."""

import numpy as np
import pytest

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.search import vectors as module
from keras_bert_lite.search.vectors import Vectors, best_of, float_vectors, vector_table

pytestmark = pytest.mark.tensorflow(reason="an index is a SavedModel")
RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(12, 16))


def unit(x):
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def near(count, spread):
    centres = CENTRES[RNG.integers(len(CENTRES), size=count)]
    return unit(centres + spread * RNG.normal(size=(count, 16)))


CORPUS, QUERIES = near(500, 0.4), near(5, 0.4)
COSINES = QUERIES @ CORPUS.T
TRUE = np.argsort(-COSINES, 1)


def searched(table, probes=0, queries=QUERIES, count=10):
    found = Vectors({name: tf.Variable(x) for name, x in table.items()}, probes)
    search = tf.function(lambda x: found.nearest(x, count))
    return [x.numpy() for x in search(tf.constant(queries))]


@pytest.mark.parametrize("block", [500, 64, 7])
def test_blocks_find_what_all_at_once_find(monkeypatch, block):
    monkeypatch.setattr(module, "BLOCK", block)
    places, cosines = searched(vector_table(CORPUS))
    np.testing.assert_array_equal(places, TRUE[:, :10])
    expected = np.take_along_axis(COSINES, TRUE[:, :10], 1)
    np.testing.assert_allclose(cosines, expected, atol=1e-6)


@pytest.mark.parametrize(("precision", "atol"), [("float16", 1e-3), ("int8", 1e-2)])
@pytest.mark.parametrize("lists", [1, 22])
def test_fewer_bits_change_cosines_little(precision, atol, lists):
    table = vector_table(CORPUS, precision, lists)
    assert table["table"].dtype == precision
    places, cosines = searched(table, probes=22 if lists > 1 else 0)
    exact = np.take_along_axis(COSINES, places, 1)
    np.testing.assert_allclose(cosines, exact, atol=atol)
    shared = [len({*a} & {*b}) for a, b in zip(places, TRUE[:, :10], strict=True)]
    assert min(shared) >= 8
    np.testing.assert_allclose(float_vectors(table), CORPUS, atol=atol)


def test_all_lists_find_what_exact_search_finds():
    table = vector_table(CORPUS, lists=22)
    assert table["starts"][-1] == len(CORPUS)
    places, cosines = searched(table, probes=22)
    np.testing.assert_array_equal(places, TRUE[:, :10])
    np.testing.assert_allclose(cosines, -np.sort(-COSINES, 1)[:, :10], atol=1e-6)


def test_some_lists_find_most_and_only_what_is_in_them():
    table = vector_table(CORPUS, lists=22)
    places, cosines = searched(table, probes=6)
    shared = [len({*a} & {*b}) for a, b in zip(places, TRUE[:, :10], strict=True)]
    assert np.mean(shared) > 9
    (place,), _ = searched(table, 1, CORPUS[:1], 500)
    mine = int((CORPUS[:1] @ table["centres"].T).argmax())
    start, end = table["starts"][mine : mine + 2]
    assert {*place[place >= 0]} == {*table["positions"][start:end]}
    np.testing.assert_allclose(
        cosines, np.take_along_axis(COSINES, places, 1), atol=1e-6
    )


@pytest.mark.parametrize(("lists", "probes"), [(1, 0), (2, 1), (2, 2)])
def test_fewer_vectors_than_are_asked_for(lists, probes):
    few = CORPUS[:4]
    places, cosines = searched(vector_table(few, lists=lists), probes, few[:2], 6)
    assert places[0][0] == 0
    assert places[1][0] == 1
    assert (np.isneginf(cosines) == (places == -1)).all()
    assert (places[:, -2:] == -1).all()


def test_equal_vectors_are_in_their_order():
    same = np.repeat(CORPUS[:1], 20, 0)
    for lists, probes in ((1, 0), (3, 3)):
        places, _ = searched(vector_table(same, lists=lists), probes, same[:1], 5)
        np.testing.assert_array_equal(places, [range(5)])


@pytest.mark.parametrize("precision", module.PRECISIONS)
def test_cosines_of_some_texts_and_their_distance_from_the_mean(precision):
    table = vector_table(CORPUS, precision, 22)
    found = Vectors({name: tf.Variable(x) for name, x in table.items()}, 3)
    some, query = [7, 300, 7, 0], tf.constant(QUERIES[2])
    cosines = found.cosines(query, tf.constant(some))
    np.testing.assert_allclose(cosines, COSINES[2, some], atol=1e-2)
    every = float_vectors(table) @ QUERIES[2]
    scores = found.standardized(query, tf.constant(every))
    expected = (every - every.mean()) / every.std()
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_one_text_has_no_deviation():
    table = vector_table(CORPUS[:1])
    found = Vectors({name: tf.Variable(x) for name, x in table.items()})
    np.testing.assert_allclose(
        found.standardized(CORPUS[0], tf.ones(1)), [0], atol=1e-3
    )


def test_the_best_are_filled_up():
    names, scores = best_of(tf.constant([4, 2, 9]), tf.constant([1.0, -np.inf, 2.0]), 4)
    np.testing.assert_array_equal(names, [9, 4, -1, -1])
    np.testing.assert_array_equal(scores, [2, 1, -np.inf, -np.inf])
