"""Layers under every floatx and dtype policy: finite numbers, blind to padding."""

import contextlib

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite import layers
from tests import tiny
from tests.conformance import to_numpy
from tests.models.samples import ids
from tests.policies import dtype_policy
from tests.training.samples import changed, values

PARTS = {
    "absolute": {},
    "disentangled": {
        "relative_positions": kbl.config.RelativePositions(max_distance=8, buckets=4)
    },
    "bias": {"relative_bias": kbl.config.RelativeBias()},
    "rotary and local": {
        "rotary": kbl.config.Rotary(),
        "local_attention": kbl.config.LocalAttention(window=2),
    },
}


@contextlib.contextmanager
def floatx(name):
    if name == "float64" and keras.backend.backend() == "jax":
        pytest.skip("JAX has no float64 unless it is asked to at its start")
    before = keras.config.floatx()
    with dtype_policy(name):  # first, as Keras derives a policy of its own from floatx
        keras.config.set_floatx(name)
        try:
            yield
        finally:
            keras.config.set_floatx(before)


@pytest.mark.parametrize("name", ["float64", "float16"])
@pytest.mark.parametrize("part", PARTS)
def test_encoders_compute_in_any_floatx(part, name):
    with floatx(name):
        for unpadding in (False, "auto"):
            encoder = kbl.encoder(tiny.config(**PARTS[part]), unpadding=unpadding)
            inputs = ids(lengths=(5, 3, 0))
            row = {key: x[1:2, :3] for key, x in inputs.items()}
            outputs = encoder(inputs)["sequence_output"]
            alone = to_numpy(encoder(row)["sequence_output"])
            assert keras.backend.standardize_dtype(outputs.dtype) == name
            outputs = to_numpy(outputs)
            assert np.isfinite(outputs).all()
            assert not outputs[2].any()  # a row of padding
            np.testing.assert_allclose(outputs[1:2, :3], alone, atol=1e-2)


def test_a_crf_trains_beside_weights_of_another_type():
    with floatx("float64"):
        model = kbl.token_classifier(tiny.encoder(num_layers=1), ["O", "B-X"], crf=True)
        optimizer = kbl.optimizers.bert_adamw(10, 1e-2, warmup=0.0, clip_norm=1.0)
        kbl.compile(model, optimizer, run_eagerly=True)
        before = values(model)
        loss = model.train_on_batch(ids(lengths=(5, 3)), np.ones((2, 5), "int32"))
    assert np.isfinite(loss).all()
    crf = {path for path in before if path.startswith("crf/")}
    assert {str(before[path].dtype) for path in crf} == {"float32"}
    assert {str(before[path].dtype) for path in before.keys() - crf} == {"float64"}
    assert {"head/dense/kernel", *crf} <= changed(before, values(model))


@pytest.mark.parametrize("policy", ["float32", "float16", "mixed_float16"])
def test_zeros_stay_zeros_when_scaled_to_length_1(policy):
    x = np.stack([np.zeros(4), np.full(4, 6e4)]).astype("float32")
    unit = to_numpy(layers.UnitNormalization(dtype=policy)(x))
    np.testing.assert_allclose(unit, [[0] * 4, [0.5] * 4], atol=1e-3)
    joined = to_numpy(layers.CompareTexts(dtype=policy)(x[None]))
    assert np.isfinite(joined).all()
    assert not joined[0, :4].any()
