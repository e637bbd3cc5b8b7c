"""Rank correlation, as scipy's."""

import keras
import numpy as np
import pytest
from scipy import stats

from keras_bert_lite import layers
from keras_bert_lite.evaluation import spearman
from keras_bert_lite.tasks.sentence_embedding import SENTENCE_EMBEDDING
from tests.tasks.says import batched, says

RANDOM = np.random.default_rng(0)
TARGETS = RANDOM.integers(0, 6, 50).astype("float32")
NUMBERS = (TARGETS + RANDOM.normal(size=50)).astype("float32")
WANTED = stats.spearmanr(TARGETS, NUMBERS).statistic


@pytest.mark.parametrize("targets", [TARGETS, TARGETS[:, None]])
def test_of_a_regressor(targets):
    score = spearman(batched(NUMBERS[:, None], targets))
    assert score(says(shape=(1,))) == {"spearman": pytest.approx(WANTED)}
    assert score(says(shape=(1,))) == {"spearman": pytest.approx(WANTED)}


def test_of_a_regressor_in_half_precision():
    inputs = keras.Input((1,))
    halves = keras.layers.Identity(dtype="bfloat16")(inputs)
    score = spearman(batched(NUMBERS[:, None], TARGETS))
    got = score(keras.Model(inputs, {"logits": halves}))["spearman"]
    assert got == pytest.approx(WANTED, abs=0.02)


def pairs():
    """Vectors of pairs of texts, and their cosines."""
    x = RANDOM.normal(size=(50, 2, 4)).astype("float32")
    lengths = np.linalg.norm(x, axis=-1)
    return x, (x[:, 0] * x[:, 1]).sum(-1) / lengths[:, 0] / lengths[:, 1]


@pytest.mark.parametrize("shape", [(4,), (2, 4)], ids=["text", "group"])
def test_of_a_sentence_encoder(shape):
    x, cosines = pairs()
    inputs = {"token_ids": keras.Input(shape, name="token_ids")}
    mark = layers.TaskOutput(SENTENCE_EMBEDDING.name, "sentence_embedding")
    outputs = {"sentence_embedding": mark(inputs["token_ids"])}
    data = [({"token_ids": x}, y) for x, y in batched(x, TARGETS)]
    got = spearman(data)(keras.Model(inputs, outputs))
    assert got["spearman"] == pytest.approx(stats.spearmanr(TARGETS, cosines)[0])


def test_says_so_where_there_is_no_correlation():
    score = spearman(batched(0 * NUMBERS[:, None], TARGETS))
    with pytest.warns(stats.ConstantInputWarning):
        assert np.isnan(score(says(shape=(1,)))["spearman"])


def test_refuses_more_than_one_number_a_row():
    score = spearman(batched(np.ones((50, 2)), TARGETS))
    with pytest.raises(ValueError, match=r"one number per row.*\(7, 2\)"):
        score(says(shape=(2,)))


def test_refuses_data_that_is_used_up():
    score = spearman(iter(batched(NUMBERS[:, None], TARGETS)))
    score(says(shape=(1,)))
    with pytest.raises(ValueError, match="`data` must have at least one batch"):
        score(says(shape=(1,)))
    with pytest.raises(ValueError, match=r"`data` must be batches \(inputs, targets\)"):
        spearman([NUMBERS])(says(shape=(1,)))
