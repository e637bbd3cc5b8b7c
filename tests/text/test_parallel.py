import pytest
import tensorflow as tf

from keras_bert_lite.text import parallel
from tests import tiny

pytestmark = pytest.mark.usefixtures("all_shards")


def traced(function):
    return tf.function(function, input_signature=[tf.TensorSpec([None], tf.string)])


def test_shards_give_the_ids_of_the_whole(monkeypatch):
    monkeypatch.setattr(parallel, "LARGE", 3)
    tokenizer = tiny.tokenizer()
    in_a_graph = traced(tokenizer)
    for size in (0, 1, 6, 7, 20):
        texts = [tiny.TEXTS[i % 4] * (i % 3) for i in range(size)]
        ids = in_a_graph(tf.constant(texts, tf.string))
        assert ids.to_list() == tokenizer(texts).to_list()
        assert ids.row_splits.dtype == tf.int64


def test_only_large_batches_are_sharded(monkeypatch):
    monkeypatch.setattr(parallel, "LARGE", 5)
    sizes = []

    def tokenize(strings):
        size = tf.numpy_function(
            lambda n: sizes.append(int(n)) or n, [tf.size(strings)], tf.int32
        )
        lengths = tf.fill([tf.ensure_shape(size, [])], 1)
        return tf.RaggedTensor.from_row_lengths(
            tf.ones_like(lengths), tf.cast(lengths, tf.int64)
        )

    graph = traced(lambda strings: parallel.in_shards(tokenize, strings))
    graph(tf.constant(["a"] * 4))
    assert sizes == [4]
    sizes.clear()
    graph(tf.constant(["a"] * 5))
    assert sorted(sizes) == [1, 1, 1, 2]


def test_works_in_a_dataset():
    tokenizer = tiny.tokenizer()
    texts = tiny.TEXTS * 200
    batches = tf.data.Dataset.from_tensor_slices(texts).batch(800).map(tokenizer)
    assert next(iter(batches)).to_list() == tokenizer(texts).to_list()


def test_where_batches_run_in_parallel_they_are_traced_whole():
    tokenizer, calls = tiny.tokenizer(), []

    def tokenize(strings):
        calls.append(strings)
        return tokenizer(strings)

    def whole(strings):
        with parallel.whole_batches():
            return parallel.in_shards(tokenize, strings)

    ids = traced(whole)(tf.constant(tiny.TEXTS)).to_list()
    assert len(calls) == 1
    assert ids == tokenizer(tiny.TEXTS).to_list()
