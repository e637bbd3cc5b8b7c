"""Labels, numbers and choices."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.tasks.classification import (
    LabelAnswer,
    LabelSetAnswer,
    NumberAnswer,
)
from keras_bert_lite.tasks.multiple_choice import ChoiceAnswer

LOGITS = tf.constant([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0], [-9.0, -9.0, -9.0]])
LABELS = ["bad", "fair", "fine"]
CHOICES = tf.constant([["a", "b", "c"], ["d", "e", ""], ["", "x", "y"]])


def sigmoid(x):
    return 1 / (1 + np.exp(-np.array(x)))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def decoded(strings):
    return np.char.decode(np.array(strings).astype(bytes)).tolist()


def test_the_most_probable_label():
    found = LabelAnswer(LABELS)(LOGITS)
    assert decoded(found["label"]) == ["fine", "bad", "bad"]
    np.testing.assert_allclose(found["scores"], softmax(LOGITS), atol=1e-6)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.5, [{"fine", "bad"}, {"bad", "fair"}, set()]),
        (0.9, [{"fine"}, set(), set()]),
        (0.0001, [set(LABELS)] * 3),
    ],
)
def test_labels_over_a_threshold_in_the_order_of_scores(threshold, expected):
    found = LabelSetAnswer(LABELS, threshold)(LOGITS)
    names = [[x if x in row else "" for x in LABELS] for row in expected]
    assert decoded(found["labels"]) == names
    np.testing.assert_allclose(found["scores"], sigmoid(LOGITS), atol=1e-6)


@pytest.mark.parametrize(
    "threshold", [0, 1, 0.0, 1.0, -0.5, 2, float("nan"), True, "0.5", None]
)
def test_refuses_thresholds(threshold):
    with pytest.raises(ValueError, match="`threshold` must be between 0 and 1, both"):
        LabelSetAnswer(LABELS, threshold)


def test_one_number_has_no_axis():
    found = NumberAnswer()(LOGITS[:, :1])
    assert list(found) == ["score"]
    assert found["score"].numpy().tolist() == [1.0, 0.5, -9.0]


def test_several_numbers():
    found = NumberAnswer()(tf.cast(LOGITS, "bfloat16"))
    assert list(found) == ["scores"]
    assert found["scores"].dtype == "float32"
    assert np.array_equal(found["scores"], LOGITS)


def test_the_best_choice():
    found = ChoiceAnswer()({"logits": LOGITS, "choices": CHOICES})
    assert found["choice"].numpy().tolist() == [2, 0, 0]
    assert decoded(found["answer"]) == ["c", "d", ""]
    np.testing.assert_allclose(found["scores"], softmax(LOGITS), atol=1e-6)


@pytest.mark.parametrize(
    "layer", [LabelAnswer(LABELS), LabelSetAnswer(LABELS), NumberAnswer()]
)
@pytest.mark.parametrize("rows", [0, 3])
def test_symbols_have_the_shapes_of_values(layer, rows):
    check(layer(LOGITS[:rows]), layer.compute_output_spec(keras.KerasTensor((None, 3))))


@pytest.mark.parametrize("rows", [0, 3])
def test_symbols_of_choices(rows):
    values = ChoiceAnswer()({"logits": LOGITS[:rows], "choices": CHOICES[:rows]})
    symbols = {
        "logits": keras.KerasTensor((None, None)),
        "choices": keras.KerasTensor((None, None), dtype="string"),
    }
    check(values, ChoiceAnswer().compute_output_spec(symbols))


def check(values, specs):
    assert set(values) == set(specs)
    for name, spec in specs.items():
        assert spec.dtype == values[name].dtype.name
        known = zip(spec.shape, values[name].shape, strict=True)
        assert all(a in (None, b) for a, b in known)


@pytest.mark.parametrize(
    "layer",
    [
        LabelAnswer(LABELS),
        LabelSetAnswer(LABELS, 0.25),
        NumberAnswer(name="number"),
        ChoiceAnswer(),
    ],
)
def test_config(layer):
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


def test_a_probability_equal_to_the_threshold_does_not_exceed_it():
    found = LabelSetAnswer(LABELS, 0.5)(tf.constant([[0.0, 1e-6, -1e-6]]))
    assert decoded(found["labels"]) == [["", "fair", ""]]
