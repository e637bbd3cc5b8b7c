"""Attention with its own gradient is the plain computation (JAX)."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert_lite import layers

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="is used under JAX"
)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0]], bool)


def results(implementation, dropout):
    """The output in training, and the gradients of the weights and the input."""
    import jax

    keras.utils.set_random_seed(0)
    layer = layers.SelfAttention(2, dropout=dropout, implementation=implementation)
    x = np.random.default_rng(0).normal(size=(3, 5, 16)).astype("float32")
    layer.build(x.shape)
    others = [v.value for v in layer.non_trainable_variables]

    def loss(weights, x):
        y, _ = layer.stateless_call(
            weights, others, x, padding_mask=MASK, training=True
        )
        return ops.sum(ops.sin(y)), y

    weights = [v.value for v in layer.trainable_variables]
    run = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    return jax.tree.leaves(run(weights, x))


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_equals_the_plain_computation(dropout):
    got, want = (results(x, dropout) for x in ("fused", "plain"))
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)


def test_the_fused_kernel_is_given_the_same(monkeypatch):
    want = results("fused", 0.0)
    # On GPUs it is cuDNN's; here it is what XLA makes of it.
    from keras_bert_lite.layers.attention import fused

    monkeypatch.setattr(fused, "_has_fused_kernel", lambda: True)
    for one, other in zip(results("fused", 0.0), want, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6)
