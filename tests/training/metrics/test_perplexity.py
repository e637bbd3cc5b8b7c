"""Perplexity, from its definition."""

import numpy as np

from keras_bert_lite.training.metrics import Perplexity
from tests.training.metrics.streams import revived


def test_equals_the_definition():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6, 3, 5)).astype("float32")
    targets = rng.integers(0, 5, (6, 3))
    weights = rng.integers(0, 2, (6, 3)).astype("float32")
    metric = Perplexity()
    for part in (slice(0, 2), slice(2, 6)):
        metric.update_state(targets[part], logits[part], weights[part])
    chances = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    logs = np.log(np.take_along_axis(chances, targets[..., None], -1)[..., 0])
    want = np.exp(-(logs * weights).sum() / weights.sum())
    np.testing.assert_allclose(float(metric.result()), want, rtol=1e-5)


def test_survives_serialization():
    assert revived(Perplexity(name="words")).name == "words"
