"""Windows: every token is in one, neighbours overlap, one shows most around it."""

import itertools

import hypothesis
import hypothesis.strategies as st
import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.text.windows import Windows, cut
from tests import tiny


def reference(length, room, stride):
    """Returns the windows of one text as ranges."""
    room = max(room, 1)
    step = room - min(stride, room // 2)
    windows = [range(min(room, length))]
    while windows[-1].stop < length:
        begin = windows[-1].start + step
        windows.append(range(begin, min(begin + room, length)))
    return windows


def is_max_context(windows, number, token):
    """Whether Google's `_check_is_max_context` chooses this window."""
    scores = {}
    for i, window in enumerate(windows):
        if token in window:
            around = min(token - window.start, window.stop - 1 - token)
            scores[i] = round(100 * around) + len(window)
    return number == max(scores, key=lambda i: (scores[i], -i))


def cut_all(lengths, rooms, stride):
    """Returns the windows of each text, as lists of its own tokens."""
    lengths, rooms = (tf.constant(x, tf.int64) for x in (lengths, rooms))
    windows = cut(lengths, rooms, stride)
    parts = np.split(windows.tokens.numpy(), np.cumsum(windows.lengths)[:-1])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    found = [[] for _ in lengths]
    for row, part in zip(windows.rows.numpy(), parts, strict=True):
        found[row].append((part - starts[row]).tolist())
    return windows, found


# Texts as (length, room), and a stride.
TEXTS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(1, 12)), min_size=1, max_size=12
)
any_texts = hypothesis.given(texts=TEXTS, stride=st.integers(0, 14))


@any_texts
def test_equal_the_reference(texts, stride):
    lengths, rooms = zip(*texts, strict=True)
    windows, found = cut_all(lengths, rooms, stride)
    most = iter(windows.has_most_context().numpy())
    for length, room, got in zip(lengths, rooms, found, strict=True):
        expected = reference(length, room, stride)
        assert got == [list(window) for window in expected]
        for number, window in enumerate(expected):
            for token in window:
                assert next(most) == is_max_context(expected, number, token)


@any_texts
def test_cover_every_token_and_share_the_stride(texts, stride):
    lengths, rooms = zip(*texts, strict=True)
    windows, found = cut_all(lengths, rooms, stride)
    for length, room, got in zip(lengths, rooms, found, strict=True):
        assert set(itertools.chain(*got)) == set(range(length))
        assert max(map(len, got)) <= room
        for before, after in itertools.pairwise(got):
            shared = len(set(before) & set(after))
            assert shared == min(stride, room // 2)
    counted = np.bincount(windows.tokens, weights=windows.has_most_context().numpy())
    assert (counted == 1).all()
    assert len(counted) == sum(lengths)


def test_positions():
    windows, _ = cut_all([5, 0, 2], [4, 4, 4], 2)
    assert windows.rows.numpy().tolist() == [0, 0, 1, 2]
    assert windows.lengths.numpy().tolist() == [4, 3, 0, 2]
    assert windows.windows.numpy().tolist() == [0] * 4 + [1] * 3 + [3] * 2
    assert windows.text_of_tokens.numpy().tolist() == [0] * 7 + [2] * 2
    assert windows.positions.numpy().tolist() == [0, 1, 2, 3, 0, 1, 2, 0, 1]
    assert windows.tokens.numpy().tolist() == [0, 1, 2, 3, 2, 3, 4, 5, 6]


def test_rows_of_windows_are_filled_up():
    windows, _ = cut_all([5, 0, 2], [4, 4, 4], 2)
    ids = tf.constant([[1, 2], [3, 4], [5, 6], [7, 8]])
    filled = windows.by_row(ids, 9).numpy().tolist()
    assert filled == [[[1, 2], [3, 4]], [[5, 6], [9, 9]], [[7, 8], [9, 9]]]


def test_no_texts():
    nothing = tf.zeros([0], tf.int64)
    windows = cut(nothing, nothing, 3)
    assert windows.rows.shape == (0,)
    assert windows.has_most_context().shape == (0,)
    assert windows.by_row(tf.zeros([0, 4]), 0).shape == (0, 0, 4)


class TestPreprocessor:
    @pytest.mark.parametrize("stride", [0, 2, 5])
    def test_windows_are_rows(self, stride):
        preprocessor = tiny.preprocessor(8, stride=stride)
        ids = preprocessor(["the day is fine", "a b c d e f g h i j", ""])
        letters = preprocessor.tokenizer(["a b c d e f g h i j"])[0].numpy()
        expected = reference(10, 6, stride)
        assert ids["token_ids"].shape == (3, len(expected), 8)
        for window, row in zip(expected, ids["token_ids"][1].numpy(), strict=True):
            assert row[1 : 1 + len(window)].tolist() == letters[window].tolist()
        real = ids["padding_mask"].numpy().any(-1).sum(-1)
        assert real.tolist() == [1, len(expected), 1]

    @pytest.mark.parametrize("separators", [1, 2])
    def test_a_first_text_stands_before_each_window(self, separators):
        preprocessor = tiny.preprocessor(12, stride=2, num_separators=separators)
        ids = preprocessor((["is it"], ["a b c d e f g h i j"]))
        text = preprocessor.tokenizer(["is it"])[0].numpy().tolist()
        room = 12 - 2 - separators - len(text)
        assert ids["token_ids"].shape[1] == len(reference(10, room, 2))
        for row in ids["token_ids"][0].numpy():
            assert row[1 : 1 + len(text)].tolist() == text

    def test_a_long_first_text_leaves_half_of_the_room(self):
        preprocessor = tiny.preprocessor(12, stride=2)
        ids = preprocessor((["a b c d e f g h i j"], ["k l m n o p q"]))
        real = ids["padding_mask"].numpy().sum(-1)
        assert real.tolist() == [[12, 11]]
        assert ids["segment_ids"].numpy().sum(-1).tolist() == [[6, 5]]

    def test_short_texts_are_the_rows_of_a_plain_call(self):
        plain = tiny.preprocessor(16)((tiny.TEXTS[:2], ["fine", ""]))
        cut = tiny.preprocessor(16, stride=4)((tiny.TEXTS[:2], ["fine", ""]))
        for name, x in plain.items():
            assert np.array_equal(cut[name][:, 0], x)

    def test_without_texts(self):
        assert tiny.preprocessor(8, stride=2)([])["token_ids"].shape == (0, 0, 2)

    def test_config(self):
        config = tiny.preprocessor(8, stride=3).get_config()
        assert config["stride"] == 3
        restored = keras.saving.deserialize_keras_object(
            keras.saving.serialize_keras_object(tiny.preprocessor(8, stride=3))
        )
        assert restored.stride == 3

    @pytest.mark.parametrize("stride", [-1, 8, 1.5, True, "2"])
    def test_refuses_strides(self, stride):
        with pytest.raises(ValueError, match=r"`stride` must be .* Received: "):
            tiny.preprocessor(8, stride=stride)

    def test_a_stride_needs_a_length(self):
        with pytest.raises(ValueError, match="sequence_length=None"):
            tiny.preprocessor(None, stride=2)


def test_of_windows_that_show_as_much_the_longer_one_counts():
    windows = Windows(
        num_rows=tf.constant(1, tf.int64),
        rows=tf.constant([0, 0], tf.int64),
        lengths=tf.constant([3, 5], tf.int64),
        tokens=tf.constant([0, 1, 2, 0, 1, 2, 3, 4], tf.int64),
    )
    found = windows.has_most_context().numpy().tolist()
    # Token 1 has one token on a side in both windows.
    assert found == [False] * 3 + [True] * 5
