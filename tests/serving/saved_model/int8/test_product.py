"""The product of matrices in int8."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite.serving.saved_model.int8 import product
from keras_bert_lite.serving.saved_model.int8.product import Product, Range

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
K, N, T = 24, 16, 5


@pytest.fixture(scope="module")
def numbers():
    draw = np.random.default_rng(0).normal
    return draw(size=(T, K)), draw(0, 0.3, (K, N)), draw(size=N)


def computed(made, *inputs):
    arguments = [tf.constant(x, tf.float32) for x in inputs]
    return tf.function(made, autograph=False)(*arguments).numpy()


def largest(x):
    return Range(-np.abs(x).max(), np.abs(x).max())


def test_is_near_the_product_of_floats(numbers):
    x, kernel, bias = numbers
    found = computed(Product(kernel, bias, largest(x)), x)
    np.testing.assert_allclose(found, x @ kernel + bias, atol=0.04)


def test_is_exactly_that_of_the_rounded_numbers(numbers):
    x, kernel, bias = numbers
    made = Product(kernel, bias, largest(x))
    scale = np.abs(x).max() / 127
    whole, scales = product.rounded(kernel)
    expected = (np.round(x / scale) @ whole) * scale * scales + bias
    np.testing.assert_allclose(computed(made, x), expected, atol=1e-5)


def test_smoothing_keeps_small_columns(numbers):
    x, kernel, bias = numbers
    x = x * np.where(np.arange(K) == 3, 100, 1)
    kernel = kernel / np.where(np.arange(K) == 3, 100, 1)[:, None]
    factors = np.abs(x).max(0)
    rough = computed(Product(kernel, bias, largest(x)), x)
    fine = computed(Product(kernel, bias, Range(-1.0, 1.0), factors), x)
    errors = [np.abs(found - x @ kernel - bias).max() for found in (rough, fine)]
    assert errors[1] < errors[0] / 5


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "relu"])
def test_activation_to_eight_bits_and_back(numbers, name):
    x, kernel, bias = numbers
    second = np.random.default_rng(1).normal(0, 0.3, (N, K))
    act = {
        "gelu": tf.nn.gelu,
        "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
        "relu": tf.nn.relu,
    }[name]
    between = act(tf.constant(x @ kernel + bias)).numpy()
    span = Range(float(between.min()), float(between.max()))
    options = {"activation": name, "outputs": span}
    first = Product(kernel, bias, largest(x), **options)
    last = Product(second, np.zeros(K), span, takes="uint8")
    found = computed(lambda x, added: last(first(x), added), x, x)
    np.testing.assert_allclose(found, between @ second + x, atol=0.1)


def test_neighbours_cannot_overflow_and_seven_bits_are_worse():
    kernel = np.random.default_rng(0).standard_t(3, (K + 1, N))
    whole, scales = product.rounded(kernel)
    np.testing.assert_array_equal(whole, np.round(whole))
    assert np.abs(whole).max() <= 127
    assert (np.abs(whole[:-1:2]) + np.abs(whole[1::2])).max() <= 128
    seven = np.abs(kernel).max(0) / 64
    errors = [
        ((x - kernel) ** 2).sum(0)
        for x in (whole * scales, np.round(kernel / seven) * seven)
    ]
    assert (errors[0] <= errors[1]).all()
    assert errors[0].sum() < 0.6 * errors[1].sum()


def test_sums_of_the_largest_numbers():
    x, kernel = np.full((T, K), 2.0), np.full((K, N), 3.0)
    found = computed(Product(kernel, np.zeros(N), Range(-2.0, 2.0)), x)
    np.testing.assert_allclose(found, x @ kernel, rtol=1e-6)


def test_rows_of_rows(numbers):
    x, kernel, bias = numbers
    made = Product(kernel, bias, largest(x))
    found = computed(made, x.reshape(1, T, K))
    np.testing.assert_array_equal(found[0], computed(made, x))


def test_there_is_a_kernel():
    product.check_kernel()


@pytest.mark.parametrize("fails", [False, True])
def test_no_kernel(fails, monkeypatch):
    def multiplied(self, x, added):
        if fails:
            raise ValueError("no such op")
        return tf.zeros([tf.shape(x)[0], 2])

    monkeypatch.setattr(Product, "_multiplied", multiplied)
    with pytest.raises(NotImplementedError, match="`int8` needs TensorFlow's"):
        product.check_kernel()
