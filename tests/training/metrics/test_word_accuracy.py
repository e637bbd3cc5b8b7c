import numpy as np
import pytest

from keras_bert_lite.layers.heads.crf import CRF
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


def test_decodes_the_scores_of_a_crf():
    crf = CRF()
    crf.build((1, 3, 2))
    crf.transitions.assign([[0, 9], [9, 0]])  # tags alternate
    scores = crf(np.array([[[1, 0], [1, 0], [1, 0]]], "float32"))
    metric = WordAccuracy()
    metric.update_state(np.array([[0, 1, 1]]), scores, np.ones((1, 3)))
    assert float(metric.result()) == pytest.approx(2 / 3)


def test_name_and_configuration():
    metric = WordAccuracy.from_config(WordAccuracy(name="tags").get_config())
    assert metric.name == "tags"
    assert WordAccuracy().name == "accuracy"
