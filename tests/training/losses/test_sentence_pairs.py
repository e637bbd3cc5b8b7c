"""Losses of sentence encoders against their formulas, under every backend."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert_lite.training.losses.sentence_pairs import (
    CosineSimilarityLoss,
    InBatchNegativesLoss,
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
}


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
    np.testing.assert_allclose(to_numpy(loss(ZEROS, vectors)), expected, rtol=1e-4)


@pytest.mark.parametrize("margin", [0, 1.0, 5.0])
def test_triplets(margin):
    loss = TripletLoss(margin, reduction=None)
    expected = triplet(TRIPLETS, margin)
    np.testing.assert_allclose(to_numpy(loss(ZEROS, TRIPLETS)), expected, atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_weights(case):
    make, vectors = CASES[case]
    weights = np.array([0, 1, 2, 0, 0.5], "float32")
    rows = to_numpy(make(reduction=None)(TARGETS, vectors))
    found = to_numpy(make(reduction="sum")(TARGETS, vectors, weights))
    np.testing.assert_allclose(found, (rows * weights).sum(), rtol=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(case, dtype):
    make, vectors = CASES[case]
    half = ops.cast(vectors, dtype)
    found = make()(TARGETS, half)
    expected = make()(TARGETS, ops.cast(half, "float32"))
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    np.testing.assert_allclose(to_numpy(found), to_numpy(expected), rtol=1e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [0.0, 1.0], ids=["zero", "equal"])
def test_gradients_are_finite_where_vectors_are_equal(case, value):
    make, vectors = CASES[case]
    layer = keras.layers.Dense(8, kernel_initializer="identity")
    inputs = keras.Input(vectors.shape[1:])
    model = keras.Model(inputs, layer(inputs))
    model.compile(keras.optimizers.SGD(0.1), make(), run_eagerly=True)
    equal = np.full_like(vectors, value)
    assert np.isfinite(model.train_on_batch(equal, ZEROS))
    assert np.isfinite(to_numpy(layer.kernel)).all()


@pytest.mark.parametrize("case", CASES)
def test_training_lowers_the_loss(case):
    make, vectors = CASES[case]
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


@pytest.mark.parametrize("case", CASES)
def test_config(case):
    loss = CASES[case][0]()
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
    ],
)
def test_refuses_other_numbers_of_texts(loss, vectors, message):
    with pytest.raises(ValueError, match=f"`y_pred` must hold .*{message}"):
        loss(ZEROS, vectors)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, True])
def test_refuses_numbers(value):
    with pytest.raises(ValueError, match="`scale` must be a finite number"):
        InBatchNegativesLoss(value)
    with pytest.raises(ValueError, match="`margin` must be a finite number"):
        TripletLoss(value)
