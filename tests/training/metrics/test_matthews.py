"""Matthews's correlation and the confusion matrix, as scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as reference

from keras_bert_lite.training.metrics import ConfusionMatrix, MatthewsCorrelation
from tests.training.metrics.samples import RANDOM, sample
from tests.training.metrics.streams import evaluated, revived, streamed


@pytest.mark.parametrize("num_classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(num_classes, weighted):
    y_true, logits, weight = sample(num_classes)
    weight = weight if weighted else None
    got = streamed(MatthewsCorrelation(num_classes), y_true, logits, weight)
    want = reference.matthews_corrcoef(y_true, logits.argmax(1), sample_weight=weight)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    matrix = streamed(ConfusionMatrix(num_classes), y_true, logits, weight)
    want = reference.confusion_matrix(y_true, logits.argmax(1), sample_weight=weight)
    np.testing.assert_allclose(matrix, want, rtol=1e-5)


def test_is_exact_where_one_class_is_rare():
    y_true = np.zeros(100_000, "int32")
    y_true[:40] = 1
    logits = np.stack([np.zeros(100_000), y_true - 0.5], axis=1)
    logits[20:90] = logits[20:90, ::-1]
    got = streamed(MatthewsCorrelation(2), y_true, logits, size=5_000)
    want = reference.matthews_corrcoef(y_true, logits.argmax(1))
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("true", [0, None])
@pytest.mark.parametrize("predicted", [1, 2])
def test_is_zero_where_undefined(true, predicted):
    y_true, logits, weight = sample(3)
    logits[:, predicted] = 100
    y_true = y_true if true is None else np.full_like(y_true, true)
    assert reference.matthews_corrcoef(y_true, logits.argmax(1)) == 0
    for weights in (None, weight):
        assert streamed(MatthewsCorrelation(3), y_true, logits, weights) == 0


def test_is_zero_where_all_is_right_and_the_same():
    logits = np.eye(3)[[1] * 20]
    assert streamed(MatthewsCorrelation(3), np.ones(20), logits) == 0


def test_is_zero_before_any_batch_and_after_a_reset():
    metric = MatthewsCorrelation(2)
    assert metric.result() == 0
    y_true, logits, _ = sample(2)
    first = streamed(metric, y_true, logits)
    metric.reset_state()
    assert metric.result() == 0
    assert streamed(metric, y_true, logits) == first


@pytest.mark.parametrize("bad", [-1, 3, -100, 0.5, np.nan, 1e9])
def test_a_target_that_is_no_class_is_seen(bad):
    y_true, logits, _ = sample(3)
    y_true = y_true.astype("float32")
    y_true[17] = bad
    weight = np.ones(len(y_true))
    assert np.isnan(streamed(MatthewsCorrelation(3), y_true, logits))
    assert np.isnan(streamed(MatthewsCorrelation(3), y_true, logits, weight))
    weight[17] = 0
    got = streamed(MatthewsCorrelation(3), y_true, logits, weight)
    rest = np.arange(len(y_true)) != 17
    assert got == streamed(MatthewsCorrelation(3), y_true[rest], logits[rest])


def test_nan_logits_are_seen():
    y_true, logits, _ = sample(3)
    logits[17, 2] = np.nan
    assert np.isnan(streamed(MatthewsCorrelation(3), y_true, logits))


def test_takes_columns_and_sequences():
    y_true, logits, weight = sample(3, 60)
    want = streamed(MatthewsCorrelation(3), y_true, logits, weight)
    column = streamed(MatthewsCorrelation(3), y_true[:, None], logits, weight[:, None])
    np.testing.assert_allclose(column, want, rtol=1e-6)
    got = streamed(
        MatthewsCorrelation(3),
        y_true.reshape(20, 3),
        logits.reshape(20, 3, 3),
        weight.reshape(20, 3),
    )
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_weights_of_rows_hold_for_their_sequences():
    y_true, logits, _ = sample(3, 60)
    y_true, logits = y_true.reshape(20, 3), logits.reshape(20, 3, 3)
    weight = RANDOM.uniform(0, 3, 20)
    got = streamed(ConfusionMatrix(3), y_true, logits, weight)
    want = streamed(
        ConfusionMatrix(3), y_true, logits, np.repeat(weight[:, None], 3, 1)
    )
    np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("weighted", [False, True])
def test_works_in_a_compiled_model(weighted):
    y_true, logits, weight = sample(3)
    weight = weight if weighted else None
    got = evaluated(revived(MatthewsCorrelation(3)), y_true, logits, weight)
    want = reference.matthews_corrcoef(y_true, logits.argmax(1), sample_weight=weight)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_refuses_shapes_that_do_not_fit():
    y_true, logits, _ = sample(3)
    with pytest.raises(
        ValueError, match=r"`y_pred` must have 2 logits per row.*\(100, 3"
    ):
        MatthewsCorrelation(2).update_state(y_true, logits)
    with pytest.raises(ValueError, match="`y_true` must be one class, as a number"):
        MatthewsCorrelation(3).update_state(np.eye(3)[y_true], logits)
    with pytest.raises(ValueError, match="`num_classes` must be a positive integer"):
        MatthewsCorrelation(0)
