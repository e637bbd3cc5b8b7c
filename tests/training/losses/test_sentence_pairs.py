"""Losses of sentence encoders against their formulas, under every backend."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert_lite.training.losses.sentence_pairs import (
    ContrastiveLoss,
    CoSENTLoss,
    CosineSimilarityLoss,
    InBatchNegativesLoss,
    MarginMSELoss,
    MatryoshkaLoss,
    TripletLoss,
    cosine_similarity,
    unit_vectors,
)
from tests.conformance import to_numpy

GENERATOR = np.random.default_rng(0)
VECTORS = GENERATOR.normal(size=(5, 4, 8)).astype("float32")
PAIRS, TRIPLETS = VECTORS[:, :2], VECTORS[:, :3]
TARGETS = GENERATOR.uniform(-1, 1, 5).astype("float32")
ZEROS = np.zeros(5, "float32")
CASES = {
    "cosine": (CosineSimilarityLoss, PAIRS),
    "in_batch": (InBatchNegativesLoss, PAIRS),
    "in_batch_with_negatives": (InBatchNegativesLoss, TRIPLETS),
    "triplet": (TripletLoss, TRIPLETS),
    "contrastive": (ContrastiveLoss, PAIRS),
    "margin": (MarginMSELoss, TRIPLETS),
}
# Those without a loss for each row.
OF_BATCHES = {
    "cosent": (CoSENTLoss, PAIRS),
    "matryoshka": (lambda: MatryoshkaLoss(CosineSimilarityLoss(), [8, 3]), PAIRS),
}
EVERY = {**CASES, **OF_BATCHES}


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def in_batch(vectors, scale=20.0):
    anchors = unit(vectors[:, 0])
    others = np.concatenate([unit(vectors[:, i]) for i in range(1, vectors.shape[1])])
    scores = scale * anchors @ others.T
    right = np.diagonal(scores)
    return np.log(np.exp(scores).sum(1)) - right


def triplet(vectors, margin=1.0):
    anchor, positive, negative = vectors.swapaxes(0, 1)
    near = np.linalg.norm(anchor - positive, axis=-1)
    return np.maximum(0, near - np.linalg.norm(anchor - negative, axis=-1) + margin)


def test_cosine_similarities():
    expected = ((unit(PAIRS[:, 0]) * unit(PAIRS[:, 1])).sum(-1) - TARGETS) ** 2
    for targets in (TARGETS, TARGETS[:, None]):
        found = CosineSimilarityLoss(reduction=None)(targets, PAIRS)
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-5)
        mean = CosineSimilarityLoss()(targets, PAIRS)
        np.testing.assert_allclose(to_numpy(mean), expected.mean(), rtol=1e-5)


@pytest.mark.parametrize("texts", [2, 3, 4])
@pytest.mark.parametrize("scale", [1, 20.0])
def test_in_batch_negatives(texts, scale):
    vectors = VECTORS[:, :texts]
    loss = InBatchNegativesLoss(scale, reduction=None)
    expected = in_batch(vectors, scale)
    found = to_numpy(loss(ZEROS, vectors))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("margin", [0, 1.0, 5.0])
def test_triplets(margin):
    loss = TripletLoss(margin, reduction=None)
    expected = triplet(TRIPLETS, margin)
    np.testing.assert_allclose(to_numpy(loss(ZEROS, TRIPLETS)), expected, atol=1e-5)


def test_cosent_counts_pairs_in_the_wrong_order():
    similarities = (unit(PAIRS[:, 0]) * unit(PAIRS[:, 1])).sum(-1)
    targets = np.array([3, 1, 2, 1, 5], "float32")  # of any scale; two are equal
    wrong = [
        np.exp(10 * (similarities[j] - similarities[i]))
        for i in range(5)
        for j in range(5)
        if targets[i] > targets[j]
    ]
    assert len(wrong) == 9
    for given in (targets, targets[:, None], targets / 7 - 1):
        found = CoSENTLoss(10.0)(given, PAIRS)
        np.testing.assert_allclose(to_numpy(found), np.log(1 + sum(wrong)), rtol=1e-5)


def test_cosent_of_equal_pairs_is_nothing():
    assert float(CoSENTLoss()(ZEROS, PAIRS)) == 0


def test_cosent_has_no_weights():
    with pytest.raises(ValueError, match="`sample_weight` must be `None`"):
        CoSENTLoss()(TARGETS, PAIRS, ZEROS)


@pytest.mark.parametrize("margin", [0.5, 1.5])
def test_contrasted_pairs(margin):
    distance = 1 - (unit(PAIRS[:, 0]) * unit(PAIRS[:, 1])).sum(-1)
    together = np.array([1, 0, 0, 1, 0], "float32")
    near, apart = distance**2 / 2, np.maximum(0, margin - distance) ** 2 / 2
    assert 0 < (apart[together == 0] > 0).sum() <= 3
    for targets in (together, together[:, None]):
        found = ContrastiveLoss(margin, reduction=None)(targets, PAIRS)
        expected = np.where(together == 1, near, apart)
        np.testing.assert_allclose(to_numpy(found), expected, atol=1e-6)


def test_margins_are_the_teachers():
    query, positive, *negatives = VECTORS.swapaxes(0, 1)
    right = (query * positive).sum(-1)
    margins = np.stack([right - (query * x).sum(-1) for x in negatives], -1)
    scores = GENERATOR.normal(size=(5, 3)).astype("float32")
    wanted = scores[:, :1] - scores[:, 1:]
    expected = ((margins - wanted) ** 2).mean(-1)
    for targets in (wanted, scores):
        found = MarginMSELoss(reduction=None)(targets, VECTORS)
        np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-4)
    one = MarginMSELoss(reduction=None)(wanted[:, 0], TRIPLETS)
    expected = (margins[:, 0] - wanted[:, 0]) ** 2
    np.testing.assert_allclose(to_numpy(one), expected, rtol=1e-4)
    with pytest.raises(ValueError, match=r"must hold 2 differences or 3 scores.*: 1$"):
        MarginMSELoss()(TARGETS, VECTORS)


@pytest.mark.parametrize("loss", [TripletLoss(), InBatchNegativesLoss(reduction="sum")])
def test_matryoshka_sums_losses_of_cut_vectors(loss):
    found = MatryoshkaLoss(loss, [8, 5, 2], [1, 0.5, 2])(ZEROS, TRIPLETS)
    expected = sum(
        weight * float(loss(ZEROS, unit(TRIPLETS[..., :length])))
        for length, weight in ((8, 1), (5, 0.5), (2, 2))
    )
    np.testing.assert_allclose(to_numpy(found), expected, rtol=1e-5)
    weighted = MatryoshkaLoss(loss, [4])(ZEROS, TRIPLETS, TARGETS + 1)
    expected = loss(ZEROS, unit(TRIPLETS[..., :4]), TARGETS + 1)
    np.testing.assert_allclose(to_numpy(weighted), to_numpy(expected), rtol=1e-5)


def test_matryoshka_refuses():
    for dimensions, weights in (([], None), ([4, 2], [1])):
        with pytest.raises(ValueError, match="`dimensions` must be at least one, with"):
            MatryoshkaLoss(TripletLoss(), dimensions, weights)
    with pytest.raises(ValueError, match=r"must be at most 8, .*Received: \[16, 4\]"):
        MatryoshkaLoss(TripletLoss(), [16, 4])(ZEROS, TRIPLETS)
    with pytest.raises(ValueError, match="`dimensions` must be a positive integer"):
        MatryoshkaLoss(TripletLoss(), [0])
    with pytest.raises(TypeError, match=r"`loss` must be a `keras\.losses\.Loss`"):
        MatryoshkaLoss("triplet", [4])


@pytest.mark.parametrize("case", CASES)
def test_weights(case):
    make, vectors = CASES[case]
    weights = np.array([0, 1, 2, 0, 0.5], "float32")
    rows = to_numpy(make(reduction=None)(TARGETS, vectors))
    found = to_numpy(make(reduction="sum")(TARGETS, vectors, weights))
    np.testing.assert_allclose(found, (rows * weights).sum(), rtol=1e-5)


@pytest.mark.parametrize("case", EVERY)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(case, dtype):
    make, vectors = EVERY[case]
    half = ops.cast(vectors, dtype)
    found = make()(TARGETS, half)
    expected = make()(TARGETS, ops.cast(half, "float32"))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(to_numpy(found), to_numpy(expected), rtol=1e-5)


@pytest.mark.parametrize("case", EVERY)
@pytest.mark.parametrize("value", [0.0, 1.0], ids=["zero", "equal"])
def test_gradients_are_finite_where_vectors_are_equal(case, value):
    make, vectors = EVERY[case]
    layer = keras.layers.Dense(8, kernel_initializer="identity")
    inputs = keras.Input(vectors.shape[1:])
    model = keras.Model(inputs, layer(inputs))
    model.compile(keras.optimizers.SGD(0.1), make(), run_eagerly=True)
    equal = np.full_like(vectors, value)
    assert np.isfinite(model.train_on_batch(equal, ZEROS))
    assert np.isfinite(to_numpy(layer.kernel)).all()


@pytest.mark.parametrize("case", EVERY)
def test_training_lowers_the_loss(case):
    make, vectors = EVERY[case]
    inputs = keras.Input(vectors.shape[1:])
    dense = keras.layers.Dense(8, kernel_initializer=keras.initializers.Identity())
    model = keras.Model(inputs, dense(inputs))
    eagerly = keras.backend.backend() != "jax"
    model.compile(keras.optimizers.Adam(0.03), make(), run_eagerly=eagerly)
    losses = [model.train_on_batch(vectors, TARGETS) for _ in range(15)]
    assert losses[-1] < 0.9 * losses[0]


def test_vectors_of_zeros_stay():
    assert not to_numpy(unit_vectors(np.zeros((2, 3), "float32"))).any()
    found = cosine_similarity(PAIRS[:, 0], PAIRS[:, 0])
    np.testing.assert_allclose(to_numpy(found), 1, rtol=1e-6)


@pytest.mark.parametrize("case", EVERY)
def test_config(case):
    loss = EVERY[case][0]()
    restored = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(loss)
    )
    assert type(restored) is type(loss)
    assert restored.get_config() == loss.get_config()


@pytest.mark.parametrize(
    ("loss", "vectors", "message"),
    [
        (CosineSimilarityLoss(), TRIPLETS, "the vectors of 2 texts per row"),
        (CosineSimilarityLoss(), VECTORS[:, 0], r"Received: shape \(5, 8\)"),
        (InBatchNegativesLoss(), VECTORS[:, :1], "of 2 or more texts per row"),
        (TripletLoss(), PAIRS, "the vectors of 3 texts per row"),
        (TripletLoss(), VECTORS, "the vectors of 3 texts per row"),
        (CoSENTLoss(), TRIPLETS, "the vectors of 2 texts per row"),
        (ContrastiveLoss(), TRIPLETS, "the vectors of 2 texts per row"),
        (MarginMSELoss(), PAIRS, "of 3 or more texts per row"),
    ],
)
def test_refuses_other_numbers_of_texts(loss, vectors, message):
    with pytest.raises(ValueError, match=f"`y_pred` must hold .*{message}"):
        loss(ZEROS, vectors)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, True])
def test_refuses_numbers(value):
    for scaled in (InBatchNegativesLoss, CoSENTLoss):
        with pytest.raises(ValueError, match="`scale` must be a finite number"):
            scaled(value)
    for spaced in (TripletLoss, ContrastiveLoss):
        with pytest.raises(ValueError, match="`margin` must be a finite number"):
            spaced(value)
