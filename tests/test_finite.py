"""What is NaN or infinite is found in numbers of any type, and named."""

import keras
import ml_dtypes
import numpy as np
import pytest

from keras_bert_lite._finite import NotFinite, check_finite_weights, is_finite


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_of_any_type(dtype, value):
    assert is_finite(np.ones((2, 2), dtype))
    assert not is_finite(np.array([1.0, value]).astype(dtype))


@pytest.mark.parametrize("value", [3, 0.5, "nan", ["a"], np.array([1, 2]), []])
def test_what_is_finite(value):
    assert is_finite(value)


def test_the_weight_is_named():
    layer = keras.layers.Dense(2, name="head")
    layer.build((None, 3))
    check_finite_weights(layer)
    layer.bias.assign([0.0, np.nan])
    with pytest.raises(NotFinite, match=r"`source` must.*head/bias"):
        check_finite_weights(layer, "source")
