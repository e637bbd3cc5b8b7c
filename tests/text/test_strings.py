"""Parts of texts."""

import resource

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.text.strings import as_strings, slices

TEXTS = ["Ärger, 東京 🙂", "", "\ufeffa\0b\ufffe", "plain"]
PARTS = [(0, 0, 5), (0, 7, 9), (2, 0, 2), (2, 2, 5), (3, 0, 5), (3, 5, 5), (0, 10, 11)]


def test_parts_are_those_of_python():
    rows, starts, ends = (np.array(x, "int64") for x in zip(*PARTS, strict=True))
    found = slices(tf.constant(TEXTS), rows, starts.astype("int32"), ends)
    assert [x.decode() for x in found.numpy()] == [TEXTS[i][j:k] for i, j, k in PARTS]


@pytest.mark.parametrize(
    "value",
    [
        [[], ["fine", "day"]],
        [["fine"], []],
        [[[]], [["fine"], []]],
        [[], []],
        [["fine"], ["day"]],
    ],
)
def test_lists_of_other_lengths(value):
    found = as_strings(value, "texts")
    ragged = tf.ragged.constant(value, dtype=tf.string)
    is_ragged = isinstance(found, tf.RaggedTensor)
    made = found.to_list() if is_ragged else found.numpy().tolist()
    assert made == ragged.to_list()


def test_no_parts():
    nothing = tf.zeros([0], tf.int64)
    assert slices(tf.constant(TEXTS), nothing, nothing, nothing).shape == (0,)
    empty = tf.constant([], tf.string)
    assert slices(empty, nothing, nothing, nothing).shape == (0,)


def test_memory_is_linear_in_the_text():
    count, width = 50_000, 8  # with a copy of the text for each part: 20 GB
    text = tf.constant(["weather " * count])
    starts = tf.range(count, dtype=tf.int64) * width
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = slices(text, tf.zeros([count], tf.int64), starts, starts + width - 1)
    assert set(found.numpy()) == {b"weather"}
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 500_000  # kB
