"""Attention as one kernel, in Pallas's interpreter and in plain operations (JAX)."""

import keras
import numpy as np
import pytest
from keras import ops

if keras.backend.backend() != "jax":
    pytest.skip("is for JAX", allow_module_level=True)

import jax

from keras_bert_lite.layers.attention import fused
from keras_bert_lite.layers.attention.kernel import attention, masks, other_devices, tpu
from keras_bert_lite.models.encoder_parts import make_attention
from tests import tiny

# Rows, length, heads and their size: cells of whole registers, of several heads, of
# all heads, of heads as wide as registers; queries in one part and in two.
SHAPES = [(2, 128, 2, 64), (1, 384, 4, 32), (3, 128, 3, 8), (1, 128, 2, 128)]
RANDOM = np.random.default_rng(0)


def floats(*shape):
    return RANDOM.normal(size=shape).astype("float32")


def inputs(shape, rate=0.0, packed=False):
    """What the kernel takes, and the upstream gradient."""
    batch, length, num_heads, size = shape
    width = num_heads * size
    dropped = masks.dropped_levels(rate) if rate else 0
    words = masks.random_words(jax.random.key(1), batch, num_heads)
    key_ids = RANDOM.integers(0, 3, (batch, 1, length), "int32")
    query_ids = key_ids.swapaxes(1, 2) if packed else np.zeros((batch, 1, 1), "int32")
    return (
        attention.Options(size, size**-0.5, dropped),
        (tuple(floats(3, batch, length, width)), words, query_ids, key_ids),
        floats(batch, length, width),
    )


def interpreted(options, arguments, upstream):
    """Returns the output and the gradients."""
    output = tpu.forward(options, *arguments, interpret=True)
    return output, *tpu.backward(options, *arguments, output, upstream, interpret=True)


def expected(options, arguments, upstream):
    """The same from the attention that runs without the kernel."""
    heads, words, query_ids, key_ids = arguments
    batch, length, width = heads[0].shape
    bias = np.where(query_ids == key_ids, 0.0, -1e30)[:, None]
    kept = kept_of(words, options.dropped, length) if options.dropped else None

    def attend(*heads):
        split = (ops.reshape(x, (batch, length, -1, options.size)) for x in heads)
        output = fused.weigh(*split, [bias], options.scale, kept, options.share)
        return ops.reshape(output, (batch, length, width))

    output, backward = jax.vjp(attend, *heads)
    return output, *backward(upstream)


def kept_of(words, dropped, length):
    pair = words[..., 0, None, None], words[..., 1, None, None]
    return masks.kept(pair, dropped, 0, length, length)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_attention_without_the_kernel(shape, rate, packed):
    given = inputs(shape, rate, packed)
    found = interpreted(*given)
    for one, other in zip(found, expected(*given), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=1e-5)


def test_plain_operations_compute_the_same():
    options, arguments, upstream = inputs(SHAPES[0], 0.3, packed=True)
    output = other_devices.forward(options, *arguments)
    gradients = other_devices.backward(options, *arguments, output, upstream)
    found = interpreted(options, arguments, upstream)
    for one, other in zip((output, *gradients), found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=1e-5)


def test_low_precision_rounds_as_without_the_kernel():
    options, (heads, *others), upstream = inputs(SHAPES[0], 0.3)
    exact = expected(options, (heads, *others), upstream)
    low = tuple(ops.cast(x, "bfloat16") for x in heads)
    for make in (interpreted, expected):
        found = make(options, (low, *others), ops.cast(upstream, "bfloat16"))
        for one, other in zip(found, exact, strict=True):
            assert one.dtype == "bfloat16"
            assert np.abs(ops.cast(one, "float32") - other).max() < 0.1


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_masks_have_the_rate_and_are_independent(rate):
    words = masks.random_words(jax.random.key(0), 4, 2)
    kept = np.array(kept_of(words, masks.dropped_levels(rate), 256), "float32")
    error = (rate * (1 - rate) / kept.size) ** 0.5
    assert np.mean(kept == 0) == pytest.approx(rate, abs=4 * error)
    # Of rows, of columns, and of the same place in other rows and heads.
    deviation = 4 * (rate * (1 - rate) / 256) ** 0.5
    for axis in (-1, -2):
        assert np.abs(kept.mean(axis) - (1 - rate)).max() < 1.5 * deviation
    flat = kept.reshape(8, -1)
    shifted = [np.roll(flat, x, 1) for x in (1, 256, 64 * 256)]
    for others in (*shifted, flat[::-1]):
        pairs = zip(flat, others, strict=True)
        assert max(abs(np.corrcoef(x, y)[0, 1]) for x, y in pairs) < 0.02


def test_rates_are_rounded():
    rates = (1e-9, 0.1, 0.5, 1 - 1e-9)
    found = [masks.dropped_levels(x) for x in rates]
    assert found == [1, 6554, 2**15, 2**16 - 1]


def test_masked_keys_have_no_weight():
    options, (heads, words, query_ids, key_ids), upstream = inputs(SHAPES[0], 0.3)
    hidden = key_ids[:, 0] != 0
    query, *keys_and_values = heads
    changed = [
        np.where(hidden[:, :, None], 1e4, x).astype("float32") for x in keys_and_values
    ]
    arguments = (words, query_ids, key_ids)
    output, *gradients = interpreted(options, (heads, *arguments), upstream)
    other, *_ = interpreted(options, ((query, *changed), *arguments), upstream)
    np.testing.assert_array_equal(output, other)
    for gradient in gradients[1:]:
        np.testing.assert_array_equal(np.array(gradient)[hidden], 0)


def test_packed_rows_do_not_leak():
    options, arguments, upstream = inputs(SHAPES[0], packed=True)
    first = arguments[2] == 0  # (B, S, 1)
    _, *gradients = interpreted(options, arguments, upstream * first)
    for gradient in gradients:
        np.testing.assert_array_equal(np.where(first, 0, gradient), 0)
        assert np.abs(np.where(first, gradient, 0)).max() > 0


def test_rows_without_real_tokens_have_uniform_weights():
    options, (heads, *_), _ = inputs(SHAPES[0])
    output = attention.attend(*heads, options, np.zeros((2, 128), bool))
    mean = np.broadcast_to(heads[2].mean(1, keepdims=True), output.shape)
    np.testing.assert_allclose(output, mean, atol=1e-5)


@pytest.mark.parametrize("length", [0, 96, 200, 1152, None])
def test_other_lengths_are_not_for_the_kernel(length):
    assert not attention.takes(length)


def results(in_kernel, length, dropout=0.0, **changes):
    """A layer's output in training, and the gradients of its weights and input."""
    keras.utils.set_random_seed(0)
    config = tiny.config(attention_dropout=dropout, **changes)
    layer = make_attention(config)
    layer.implementation = "kernel" if in_kernel else "fused"
    x = np.random.default_rng(0).normal(size=(3, length, 16)).astype("float32")
    mask = np.arange(length) < np.array([[length], [3], [length - 1]])
    ids = np.arange(length)[None] // 64 * np.ones((3, 1), "int32")
    layer.build(x.shape)
    others = [v.value for v in layer.non_trainable_variables]

    def loss(weights, x):
        given = {"padding_mask": mask, "sequence_ids": ids, "training": True}
        y, _ = layer.stateless_call(weights, others, x, **given)
        return ops.sum(ops.sin(y)), y

    weights = [v.value for v in layer.trainable_variables]
    run = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    return jax.tree.leaves(run(weights, x))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_key_value_heads": 1},
        {"biases": {"key": False}},
        {"rotary": {"base": 100.0}},
    ],
)
def test_layers_compute_the_same(changes):
    found, want = (results(x, 128, **changes) for x in (True, False))
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5)


def test_layers_attend_as_before_where_the_kernel_does_not():
    found, want = (results(x, 24, dropout=0.3) for x in (True, False))
    for one, other in zip(found, want, strict=True):
        np.testing.assert_array_equal(one, other)
