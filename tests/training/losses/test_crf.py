"""Losses of token labels."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert_lite.layers.heads.crf import CRF, split_crf_scores
from keras_bert_lite.training.losses.crf import CRFLoss, negative_log_likelihood
from tests.conformance import EAGERLY, assert_all_close, randomize, to_numpy

GENERATOR = np.random.default_rng(0)
LOGITS = GENERATOR.normal(size=(3, 4, 5)).astype("float32")
TAGS = GENERATOR.integers(0, 5, (3, 4))
WEIGHTS = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]], "float32")


def scores():
    crf = CRF()
    crf.build(LOGITS.shape)
    randomize(crf)
    return crf(LOGITS)


def row_values(weights=WEIGHTS):
    split = split_crf_scores(scores())
    return to_numpy(negative_log_likelihood(split, TAGS, weights != 0))


def test_is_the_mean_over_targets():
    expected = row_values().sum() / 6
    assert_all_close(CRFLoss()(TAGS, scores(), WEIGHTS), expected)


def test_without_weights_every_position_counts():
    expected = row_values(np.ones_like(WEIGHTS)).sum() / 12
    assert_all_close(CRFLoss()(TAGS, scores()), expected)


def test_weights_of_rows():
    values = row_values(np.ones_like(WEIGHTS))
    expected = (0.5 * values[0] + 2 * values[1]) / (4 * 2.5)
    got = CRFLoss()(TAGS, scores(), np.array([0.5, 2.0, 0.0], "float32"))
    assert_all_close(got, expected)
    each = WEIGHTS * np.array([[0.5], [2.0], [1.0]])
    expected = row_values()[:2] @ [0.5, 2.0] / (4 * 0.5 + 2 * 2)
    assert_all_close(CRFLoss()(TAGS, scores(), each), expected)


@pytest.mark.parametrize(
    ("reduction", "reduce"),
    [("sum", np.sum), ("sum_over_batch_size", np.mean), (None, np.asarray)],
)
def test_reductions(reduction, reduce):
    got = CRFLoss(reduction=reduction)
    if reduction is None:
        assert got(TAGS, scores(), WEIGHTS).shape == (3,)
    assert_all_close(got(TAGS, scores(), WEIGHTS), reduce(row_values()))


def test_is_zero_without_targets():
    assert to_numpy(CRFLoss()(TAGS, scores(), np.zeros_like(WEIGHTS))) == 0.0
    assert to_numpy(CRFLoss()(TAGS, scores(), np.zeros(3, "float32"))) == 0.0


@pytest.mark.parametrize("wrong", [-1, 5])
def test_labels_out_of_range_are_not_passed_over(wrong):
    tags = TAGS.copy()
    tags[1, 0] = wrong
    assert np.isfinite(to_numpy(CRFLoss()(tags, scores(), WEIGHTS)))
    tags[1, 1] = wrong
    assert np.isnan(to_numpy(CRFLoss()(tags, scores(), WEIGHTS)))


def test_long_sequences_lose_little():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(1, 120, 5)).astype("float32")
    tags = generator.integers(0, 5, (1, 120))
    crf = CRF()
    near, far = (to_numpy(CRFLoss()(tags, crf(x))) for x in (logits, logits + 300))
    assert far == pytest.approx(near, rel=1e-4)


@pytest.mark.parametrize("y_pred", [LOGITS, LOGITS[0]], ids=["logits", "rank"])
def test_refuses_what_no_crf_gave(y_pred):
    with pytest.raises(ValueError, match=r"the output of a CRF layer.* and \(3, 4\)"):
        CRFLoss()(TAGS, y_pred)


def test_gradient_equals_differences():
    """One step of plain descent shows the gradient on every backend."""
    crf, step = CRF(), 1e-2
    model = keras.Sequential([keras.Input((4, 5)), crf])
    model.compile(keras.optimizers.SGD(1.0), CRFLoss(), run_eagerly=EAGERLY)
    randomize(crf)
    before = crf.get_weights()
    model.train_on_batch(LOGITS, TAGS, WEIGHTS)
    gradients = [x - y for x, y in zip(before, crf.get_weights(), strict=True)]
    for which, at in [(0, (0, 0)), (0, (1, 3)), (0, (4, 2)), (1, 2), (2, 1)]:
        values = []
        for change in (step, -step):
            weights = [x.copy() for x in before]
            weights[which][at] += change
            crf.set_weights(weights)
            values.append(to_numpy(CRFLoss()(TAGS, crf(LOGITS), WEIGHTS)))
        expected = (values[0] - values[1]) / (2 * step)
        assert gradients[which][at] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("jit_compile", "length"), [(False, 4), (True, None)])
def test_trains_and_is_saved(tmp_path, jit_compile, length):
    if jit_compile and keras.backend.backend() == "torch":
        pytest.skip("torch.compile needs a C++ compiler")
    keras.utils.set_random_seed(0)
    inputs = keras.Input((length, 5))
    outputs = {"crf_scores": CRF()(keras.layers.Dense(5)(inputs))}
    model = keras.Model(inputs, outputs)
    optimizer = keras.optimizers.Adam(0.1)
    model.compile(optimizer, {"crf_scores": CRFLoss()}, jit_compile=jit_compile)
    data = (LOGITS, {"crf_scores": TAGS}, {"crf_scores": WEIGHTS})
    before = model.get_weights()
    model.train_on_batch(*data[:2], {"crf_scores": np.zeros_like(WEIGHTS)})
    assert_all_close(model.get_weights(), before)
    losses = [float(model.train_on_batch(*data)) for _ in range(15)]
    assert losses[-1] < losses[0] / 2
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    model.reset_metrics()  # until Keras 3.15, `train_on_batch` counts too
    expected = pytest.approx(model.test_on_batch(*data), rel=1e-5)
    assert loaded.test_on_batch(*data) == expected


def token_loss():
    return keras.losses.SparseCategoricalCrossentropy(
        from_logits=True, reduction="mean_with_sample_weight"
    )


def test_keras_averages_over_the_targets():
    logs = LOGITS - np.log(np.sum(np.exp(LOGITS), -1, keepdims=True))
    chosen = np.take_along_axis(logs, TAGS[:, :, None], 2)[:, :, 0]
    expected = -np.sum(chosen * WEIGHTS) / np.sum(WEIGHTS)
    assert_all_close(token_loss()(TAGS, LOGITS, WEIGHTS), expected)


def test_keras_gives_zero_without_targets():
    assert to_numpy(token_loss()(TAGS, LOGITS, np.zeros_like(WEIGHTS))) == 0.0
    half = ops.convert_to_tensor(LOGITS.astype("float16"))
    assert to_numpy(token_loss()(TAGS, half, np.zeros_like(WEIGHTS))) == 0.0


@pytest.mark.tensorflow(reason="only its graphs have such shapes")
def test_gradient_of_batches_of_unknown_size_and_length():
    import tensorflow as tf

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 5], tf.float32),
            tf.TensorSpec([None, None], tf.int32),
        ]
    )
    def gradient(scores, tags):
        with tf.GradientTape() as tape:
            tape.watch(scores)
            loss = CRFLoss()(tags, scores)
        return tape.gradient(loss, scores)

    scores = np.random.default_rng(0).normal(size=(2, 4 + 7, 5)).astype("float32")
    found = gradient(scores, np.zeros((2, 4), "int32")).numpy()
    assert found.shape == scores.shape
    assert np.isfinite(found).all()
    assert found.any()
