"""Cross-entropy and accuracy over a vocabulary, from their definitions."""

import keras
import numpy as np
import pytest

from keras_bert_lite.training.losses.word_cross_entropy import WordCrossEntropy
from keras_bert_lite.training.metrics import Perplexity, ReplacedTokenAccuracy
from keras_bert_lite.training.metrics.vocabulary_accuracy import VocabularyAccuracy
from keras_bert_lite.training.word_scores import cross_entropy, hits

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(2, 3, 300)).astype("float32")
TARGETS = RNG.integers(0, 300, (2, 3)).astype("int32")
WEIGHTS = np.array([[1, 1, 0], [2, 0, 0]], "float32")


def values(x):
    return keras.ops.convert_to_numpy(x)


def test_equals_the_definition():
    chosen = np.take_along_axis(LOGITS, TARGETS[..., None], -1)[..., 0]
    want = np.log(np.exp(LOGITS).sum(-1)) - chosen
    np.testing.assert_allclose(values(cross_entropy(TARGETS, LOGITS)), want, rtol=1e-5)
    loss = values(WordCrossEntropy()(TARGETS, LOGITS, WEIGHTS))
    np.testing.assert_allclose(loss, (want * WEIGHTS).sum() / 4, rtol=1e-5)


def test_the_first_of_equal_scores_counts():
    logits = np.array([[1, 2, 2], [1, 2, 2], [0, 0, 0]], "float32")
    np.testing.assert_array_equal(values(hits(np.array([1, 2, 0]), logits)), [1, 0, 1])


def test_ids_are_not_rounded_to_the_precision_of_scores():
    logits = keras.ops.cast(np.eye(300)[None, [257]], "bfloat16")
    metric = VocabularyAccuracy()
    metric.update_state(np.array([[256]]), logits)
    assert float(metric.result()) == 0
    metric.update_state(np.array([[257]]), logits)
    assert float(metric.result()) == 0.5


METRICS = [VocabularyAccuracy, ReplacedTokenAccuracy, Perplexity]


@pytest.mark.parametrize("kind", METRICS)
def test_batches_of_short_and_of_long_rows_weigh_words_alike(kind):
    scores = RNG.normal(size=(2, 8, 2)).astype("float32")
    targets = RNG.integers(0, 2, (2, 8))
    apart, together = kind(), kind()
    apart.update_state(targets[:1, :2], scores[:1, :2], np.ones((1, 2)))
    apart.update_state(targets[1:], scores[1:], np.ones((1, 8)))
    weights = np.array([[1, 1, 0, 0, 0, 0, 0, 0], [1] * 8])
    together.update_state(targets, scores, weights)
    assert float(apart.result()) == pytest.approx(float(together.result()))


def test_a_weight_of_a_row_counts_for_its_words():
    metric, by_word = VocabularyAccuracy(), VocabularyAccuracy()
    metric.update_state(TARGETS, LOGITS, np.array([1.0, 2.0]))
    by_word.update_state(TARGETS, LOGITS, np.array([[1.0] * 3, [2.0] * 3]))
    assert float(metric.result()) == float(by_word.result())
