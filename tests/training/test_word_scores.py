"""Cross-entropy and accuracy over a vocabulary, from their definitions."""

import keras
import numpy as np

from keras_bert_lite.training.losses.word_cross_entropy import WordCrossEntropy
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
