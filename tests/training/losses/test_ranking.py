"""Losses of rankers against their formulas, under every backend."""

import keras
import numpy as np
import pytest

from keras_bert_lite.training.losses.ranking import (
    LambdaLoss,
    ListNetLoss,
    PointwiseLoss,
    RankNetLoss,
)
from keras_bert_lite.training.losses.sentence_pairs import MarginMSELoss
from tests.conformance import to_numpy

LOSSES = [PointwiseLoss, RankNetLoss, ListNetLoss, LambdaLoss]
GRADES = np.array([[0, 1, 0, 0.5], [1, 0, 0, 0]], "float32")
SCORES = np.array([[0.3, -1, 2, 0.1], [0.5, 0.7, -np.inf, -np.inf]], "float32")
# The lists without padding.
LISTS = [(GRADES[0], SCORES[0]), (GRADES[1, :2], SCORES[1, :2])]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


def ordered(grades):
    """The pairs of which the first has the higher grade."""
    count = range(len(grades))
    return [(i, j) for i in count for j in count if grades[i] > grades[j]]


def pointwise():
    return [
        -y * np.log(sigmoid(s)) - (1 - y) * np.log(1 - sigmoid(s))
        for grades, scores in LISTS
        for y, s in zip(grades, scores, strict=True)
    ]


def rank_net():
    return [
        -np.log2(sigmoid(scores[i] - scores[j]))
        for grades, scores in LISTS
        for i, j in ordered(grades)
    ]


def list_net():
    return [-(softmax(y) * np.log(softmax(s))).sum() for y, s in LISTS]


def discount(rank):
    return 1 / np.log2(1 + rank)


def weighted(k, mu):
    """The terms of NDCG-Loss2++, one pair after the other."""
    for grades, scores in LISTS:
        ranks = 1 + np.argsort(np.argsort(-scores))
        best = sorted(2**grades - 1, reverse=True)[:k]
        ideal = sum(x * discount(r) for r, x in enumerate(best, 1))
        for i, j in ordered(grades):
            if min(ranks[i], ranks[j]) > (k or len(grades)):
                continue
            gain = (2 ** grades[i] - 2 ** grades[j]) / ideal
            apart = abs(ranks[i] - ranks[j])
            swap = abs(discount(ranks[i]) - discount(ranks[j]))
            step = abs(discount(apart) - discount(apart + 1))
            loss = -np.log2(sigmoid(scores[i] - scores[j]))
            yield gain * (swap + mu * step) * loss


@pytest.mark.parametrize(
    ("loss", "terms"),
    [
        (PointwiseLoss(), pointwise()),
        (RankNetLoss(), rank_net()),
        (ListNetLoss(), list_net()),
        (LambdaLoss(), [*weighted(None, 10)]),
        (LambdaLoss(k=1), [*weighted(1, 10)]),
        (LambdaLoss(k=2, mu=0), [*weighted(2, 0)]),
    ],
)
def test_is_the_mean_of_its_terms(loss, terms):
    assert float(loss(GRADES, SCORES)) == pytest.approx(np.mean(terms), rel=1e-5)


def test_margins_of_a_teacher_leave_padding_out():
    teacher = np.array([[2, 1, 0, 0], [3, 1, 9, 9]], "float32")
    first = [(0.3 + 1 - 1) ** 2, (0.3 - 2 - 2) ** 2, (0.3 - 0.1 - 2) ** 2]
    expected = [np.mean(first), (0.5 - 0.7 - 2) ** 2]
    found = to_numpy(MarginMSELoss(reduction=None)(teacher, SCORES))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_training_reaches_real_candidates_only(loss):
    x = keras.Input((4,))
    scores = keras.layers.EinsumDense("bc,c->bc", 4, kernel_initializer="ones")(x)
    hidden = keras.ops.where(keras.ops.equal(x, 9), -float("inf"), scores)
    model = keras.Model(x, hidden)
    model.compile(keras.optimizers.SGD(0.1), loss())
    before = model.get_weights()[0]
    inputs = np.array([[1, 2, 3, 9], [3, 1, 2, 9]], "float32")
    grades = np.array([[1, 0, 0, 5], [1, 0, 0, 5]], "float32")
    losses = model.fit(inputs, grades, epochs=3, verbose=0).history["loss"]
    assert losses[2] < losses[1] < losses[0]
    change = model.get_weights()[0] - before
    assert (change[:3] != 0).all()
    assert change[3] == 0


@pytest.mark.parametrize("loss", [RankNetLoss, LambdaLoss])
def test_a_list_of_equal_grades_teaches_nothing(loss):
    assert float(loss()(np.ones((2, 3)), np.zeros((2, 3)))) == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_far_apart_stay_finite(loss):
    scores = np.array([[1e4, -1e4]], "float32")
    assert np.isfinite(float(loss()(np.array([[0.0, 1]]), scores)))


@pytest.mark.parametrize("loss", LOSSES)
def test_refuses_what_is_not_lists(loss):
    with pytest.raises(ValueError, match=r"Received: shapes \(2,\) and \(2, 4\)"):
        loss()(np.zeros(2), SCORES)
    with pytest.raises(ValueError, match="`sample_weight` must be `None`"):
        loss()(GRADES, SCORES, np.ones(2))


def test_configurations():
    loss = LambdaLoss(k=3, mu=2.0, name="a")
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert again.get_config() == {"name": "a", "k": 3, "mu": 2.0}
    with pytest.raises(ValueError, match="`k` must be"):
        LambdaLoss(k=0)
