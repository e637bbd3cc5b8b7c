"""Pearson's correlation, as scipy's."""

import numpy as np
import pytest
from scipy import stats

from keras_bert_lite.training.metrics import PearsonCorrelation
from tests.training.metrics.streams import evaluated, revived, streamed

RANDOM = np.random.default_rng(0)


def sample(rows=500, mean=0.0, spread=1.0):
    y_true = RANDOM.normal(size=rows)
    y_pred = y_true + RANDOM.normal(size=rows)
    move = [x * spread + mean for x in (y_true, y_pred)]
    return [x.astype("float32") for x in move]


@pytest.mark.parametrize("mean", [0, 3, -1e4, 1e6])
@pytest.mark.parametrize("spread", [1, 1e-3, 1e6])
def test_equals_scipy(mean, spread):
    y_true, y_pred = sample(mean=mean, spread=max(spread, abs(mean) * 1e-5))
    want = stats.pearsonr(*(x.astype("float64") for x in (y_true, y_pred))).statistic
    got = streamed(PearsonCorrelation(), y_true, y_pred[:, None])
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_the_order_of_rows_does_not_matter():
    y_true, y_pred = sample(mean=1e4)
    order = np.argsort(y_true)
    want = stats.pearsonr(*(x.astype("float64") for x in (y_true, y_pred))).statistic
    got = streamed(PearsonCorrelation(), y_true[order], y_pred[order])
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_a_weight_is_a_number_of_rows():
    y_true, y_pred = sample(mean=1e4)
    weight = RANDOM.integers(0, 4, len(y_true))
    weight[:20] = 0
    y_pred[:5] = np.nan
    rows = (np.repeat(x, weight).astype("float64") for x in (y_true, y_pred))
    got = streamed(PearsonCorrelation(), y_true[:, None], y_pred, weight)
    np.testing.assert_allclose(got, stats.pearsonr(*rows).statistic, atol=1e-5)
    fractions = streamed(PearsonCorrelation(), y_true, y_pred, weight * 0.01)
    np.testing.assert_allclose(fractions, got, atol=1e-5)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6 / 3])
def test_is_nan_where_something_is_constant(constant):
    y_true, _ = sample()
    constants = np.full_like(y_true, constant)
    assert np.isnan(streamed(PearsonCorrelation(), y_true, constants))
    assert np.isnan(streamed(PearsonCorrelation(), constants, y_true))
    assert np.isnan(float(PearsonCorrelation().result()))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 40])
def test_bad_numbers_are_seen(bad, row):
    y_true, y_pred = sample()
    spoilt = y_true.copy()
    spoilt[row] = bad
    assert np.isnan(streamed(PearsonCorrelation(), spoilt, y_pred))
    assert np.isnan(streamed(PearsonCorrelation(), y_true, spoilt))


def test_never_leaves_its_range():
    y_true, _ = sample(1000)
    assert streamed(PearsonCorrelation(), y_true, 3 * y_true) <= 1
    assert streamed(PearsonCorrelation(), y_true, -y_true) >= -1


def test_starts_again_after_a_reset():
    metric = PearsonCorrelation()
    streamed(metric, *sample(mean=1e6))
    metric.reset_state()
    y_true, y_pred = sample()
    got = streamed(metric, y_true, y_pred)
    assert got == streamed(PearsonCorrelation(), y_true, y_pred)


@pytest.mark.parametrize("weighted", [False, True])
def test_works_in_a_compiled_model(weighted):
    y_true, y_pred = sample()
    weight = RANDOM.uniform(0, 1, len(y_true)) if weighted else None
    got = evaluated(revived(PearsonCorrelation()), y_true, y_pred[:, None], weight)
    want = np.cov(y_true, y_pred, aweights=weight)
    want = want[0, 1] / np.sqrt(want[0, 0] * want[1, 1])
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_refuses_more_than_one_number_a_row():
    y_true, y_pred = sample(10)
    with pytest.raises(ValueError, match=r"`y_pred` must be one number.*\(5, 2\)"):
        PearsonCorrelation().update_state(y_true[:5], y_pred.reshape(5, 2))
