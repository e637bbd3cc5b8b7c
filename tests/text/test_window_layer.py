"""TextWindows: the ids of windows, and which token stands where."""

import hypothesis
import hypothesis.strategies as st
import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.text.window_layer import TextWindows
from keras_bert_lite.text.windows import cut
from tests import tiny

CONTEXTS = ["the weather is not fine and the day is bad", "", "Finer?", "a 東 b"]
QUESTIONS = ["what", "is it", "", "?"]
LAYER = TextWindows(tiny.preprocessor(10, stride=3))


def strings(*texts):
    return dict(zip(("text", "text_pair"), map(tf.constant, texts), strict=False))


def as_numpy(outputs):
    return {name: x.numpy() for name, x in outputs.items()}


def check_places(x, ids, starts, ends):
    """The places must lead from windows to the tokens of the contexts."""
    assert np.array_equal(x["token_ids"][x["windows"], x["columns"]], ids[x["tokens"]])
    assert x["padding_mask"][x["windows"], x["columns"]].all()
    assert np.array_equal(x["starts"], starts)
    assert np.array_equal(x["ends"], ends)
    rows = np.repeat(np.arange(len(x["row_splits"]) - 1), np.diff(x["row_splits"]))
    assert np.array_equal(rows[x["tokens"]], x["window_rows"][x["windows"]])
    assert (np.bincount(x["tokens"], x["most_context"]) == 1).all()


@pytest.mark.parametrize("pairs", [False, True])
def test_tokens_stand_where_the_places_say(pairs):
    inputs = strings(*([QUESTIONS] if pairs else []), CONTEXTS)
    outputs = as_numpy(LAYER(inputs))
    found = tiny.tokenizer().tokenize_with_offsets(CONTEXTS)
    check_places(outputs, *(x.flat_values.numpy() for x in found))
    assert outputs["row_splits"].tolist() == found[0].row_splits.numpy().tolist()
    assert outputs["text"].tolist() == [x.encode() for x in CONTEXTS]
    assert outputs["window_rows"].tolist() == sorted(outputs["window_rows"])
    assert len(outputs["window_rows"]) > len(CONTEXTS)
    assert not outputs["words"].any()


LONG = st.text("ab é東. ", max_size=60) | st.text(max_size=20)


@hypothesis.given(texts=st.lists(LONG, min_size=1, max_size=5))
def test_windows_of_any_texts(texts):
    outputs = as_numpy(LAYER(strings(texts)))
    found = LAYER.preprocessor.tokenizer.tokenize_with_offsets(texts)
    check_places(outputs, *(x.flat_values.numpy() for x in found))
    assert set(outputs["tokens"]) == set(range(outputs["row_splits"][-1]))
    assert outputs["padding_mask"].sum(-1).max() <= 10


def test_the_question_stands_before_each_window():
    outputs = as_numpy(LAYER(strings(QUESTIONS, CONTEXTS)))
    questions = tiny.tokenizer()(QUESTIONS).to_list()
    for row, ids, segments in zip(
        outputs["window_rows"],
        outputs["token_ids"],
        outputs["segment_ids"],
        strict=True,
    ):
        question = questions[row][:3]  # half of the room for text
        assert ids[1 : 1 + len(question)].tolist() == question
        assert segments[: 2 + len(question)].sum() == 0


def test_rows_without_windows_are_those_of_the_preprocessor():
    preprocessor = tiny.preprocessor(16)
    outputs = TextWindows(preprocessor)(strings(QUESTIONS[1:], CONTEXTS[1:]))
    expected = preprocessor((QUESTIONS[1:], CONTEXTS[1:]))
    for name, value in expected.items():
        assert np.array_equal(outputs[name], value)


def test_first_pieces_begin_words():
    outputs = as_numpy(LAYER(strings(CONTEXTS[2:])))
    words = [(s, e) for s, e in zip(outputs["starts"], outputs["ends"], strict=True)]
    begins = [x for x, first in zip(words, outputs["firsts"], strict=True) if first]
    assert begins == [(0, 4), (5, 6), (0, 1), (2, 3), (4, 5)]


def test_given_words_keep_their_numbers():
    words = [["the", "", "Finer", "\x01", "a-b"], ["", "", "", "", ""]]
    outputs = as_numpy(LAYER({"text": tf.constant(words)}))
    assert outputs["text"].tolist() == [b"the  Finer \x01 a-b", b"    "]
    assert np.unique(outputs["words"]).tolist() == [0, 2, 4]
    firsts = np.flatnonzero(outputs["firsts"])
    assert outputs["words"][firsts].tolist() == [0, 2, 4]
    assert outputs["starts"][firsts].tolist() == [0, 5, 13]


@pytest.mark.parametrize(
    "shapes",
    [
        {"text": [0], "text_pair": [0]},
        {"text": [0]},
        {"text": [0, 3]},
        {"text": [0, 0]},
    ],
)
def test_nothing(shapes):
    inputs = {k: tf.fill(shape, "") for k, shape in shapes.items()}
    for name, value in LAYER(inputs).items():
        assert value.shape[0] == (1 if name == "row_splits" else 0)


@pytest.mark.tensorflow(reason="symbolic calls")
@pytest.mark.parametrize("padding", ["longest", "max_length"])
def test_symbols_have_the_shapes_of_values(padding):
    layer = TextWindows(tiny.preprocessor(14, stride=3, padding=padding))
    inputs = strings(QUESTIONS, CONTEXTS)
    symbols = {k: keras.Input((), dtype="string", name=k) for k in inputs}
    specs, values = layer(symbols), layer(inputs)
    assert list(specs) == list(values)
    for name, spec in specs.items():
        assert spec.dtype == values[name].dtype.name
        known = zip(spec.shape, values[name].shape, strict=True)
        assert all(a in (None, b) for a, b in known)


def test_config():
    restored = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(LAYER)
    )
    inputs = strings(QUESTIONS, CONTEXTS)
    for name, value in restored(inputs).items():
        assert np.array_equal(value, LAYER(inputs)[name])


def test_windows_are_cut_as_the_preprocessor_says():
    outputs = LAYER(strings(CONTEXTS))
    lengths = tiny.tokenizer()(CONTEXTS).row_lengths()
    expected = cut(lengths, tf.fill(tf.shape(lengths), tf.constant(8, tf.int64)), 3)
    assert np.array_equal(outputs["tokens"], expected.tokens)
    assert np.array_equal(outputs["most_context"], expected.has_most_context())
