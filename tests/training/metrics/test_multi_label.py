"""F1 of many labels, as scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as reference

from keras_bert_lite.training.metrics import MultiLabelF1
from tests.training.metrics.streams import evaluated, revived, streamed

RANDOM = np.random.default_rng(0)
AVERAGES = ["micro", "macro", "weighted", None]


def sample(labels=4, rows=100):
    y_true = RANDOM.integers(0, 2, (rows, labels))
    logits = RANDOM.normal(size=(rows, labels)).astype("float32") + y_true
    return y_true, logits, RANDOM.uniform(0, 3, rows).astype("float32")


def wanted(y_true, logits, average, threshold=0.5, weight=None):
    return reference.f1_score(
        y_true,
        1 / (1 + np.exp(-logits)) > threshold,
        average=average,
        sample_weight=weight,
        zero_division=0,
    )


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(average, threshold, weighted):
    y_true, logits, weight = sample()
    weight = weight if weighted else None
    want = wanted(y_true, logits, average, threshold, weight)
    got = streamed(MultiLabelF1(4, average, threshold), y_true, logits, weight)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("average", AVERAGES)
def test_labels_that_never_occur_have_no_f1(average):
    y_true, logits, _ = sample()
    y_true[:, 2:], logits[:, 2] = 0, -100
    got = streamed(MultiLabelF1(4, average), y_true, logits)
    np.testing.assert_allclose(got, wanted(y_true, logits, average), rtol=1e-5)
    nothing = streamed(MultiLabelF1(4, average), 0 * y_true, logits - 100)
    assert not np.any(nothing)


@pytest.mark.parametrize("bad", [2, -1, -100, 0.5, np.nan])
def test_a_bad_target_is_seen(bad):
    y_true, logits, _ = sample()
    y_true = y_true.astype("float32")
    y_true[17, 1] = bad
    weight = np.ones((len(y_true), 1))
    for average in AVERAGES:
        got = streamed(MultiLabelF1(4, average), y_true, logits, weight)
        assert np.any(np.isnan(got))
    weight[17] = 0
    got = streamed(MultiLabelF1(4), y_true, logits, weight)
    rest = np.arange(len(y_true)) != 17
    want = wanted(y_true[rest], logits[rest], "micro")
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_nan_logits_are_seen():
    y_true, logits, _ = sample()
    logits[17, 2] = np.nan
    assert np.isnan(streamed(MultiLabelF1(4), y_true, logits))


@pytest.mark.parametrize("weighted", [False, True])
def test_works_in_a_compiled_model(weighted):
    y_true, logits, weight = sample()
    weight = weight if weighted else None
    metric = revived(MultiLabelF1(4, "macro", 0.3))
    got = evaluated(metric, y_true, logits, weight)
    want = wanted(y_true, logits, "macro", 0.3, weight)
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.5, 1.5, 1, "0.5", None])
def test_refuses_thresholds_that_are_no_probability(threshold):
    with pytest.raises(ValueError, match=r"`threshold` must be between 0\.0 and 1\.0"):
        MultiLabelF1(4, threshold=threshold)


def test_refuses_shapes_that_do_not_fit():
    y_true, logits, _ = sample()
    with pytest.raises(ValueError, match=r"`y_pred` must have the shape \(B, 3\)"):
        MultiLabelF1(3).update_state(y_true[:, :3], logits)
    with pytest.raises(ValueError, match=r"`y_true` must have the shape .*\(100,\)"):
        MultiLabelF1(4).update_state(y_true[:, 0], logits)
