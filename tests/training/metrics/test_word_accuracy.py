import numpy as np
import pytest

from keras_bert_lite.metrics import WordAccuracy


def test_counts_words_and_not_rows():
    tags = np.array([[0, 1, 1, 1], [0, 0, 0, 0]])
    scores = np.eye(2)[[[0, 0, 0, 0], [0, 0, 0, 0]]]
    weights = np.array([[1, 1, 1, 1], [1, 0, 0, 0]])
    metric = WordAccuracy()
    metric.update_state(tags, scores, weights)
    assert float(metric.result()) == pytest.approx(2 / 5)  # by rows it is 5 / 8
    metric.update_state(tags, scores)
    assert float(metric.result()) == pytest.approx(7 / 13)


def test_name_and_configuration():
    metric = WordAccuracy.from_config(WordAccuracy(name="tags").get_config())
    assert metric.name == "tags"
    assert WordAccuracy().name == "accuracy"
