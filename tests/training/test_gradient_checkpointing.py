"""Gradient checkpointing: less memory for more time."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.gradient_checkpointing import set_gradient_checkpointing
from tests import tiny
from tests.paths import ROOT
from tests.policies import dtype_policy
from tests.training.samples import (
    FAMILIES,
    INPUTS,
    LOSS,
    TARGETS,
    changed,
    classifier,
    same,
    values,
)

BACKEND = keras.backend.backend()
# How Keras runs a training step; JAX and torch know one way each here.
EAGER, GRAPH, XLA = {"run_eagerly": True}, {"jit_compile": False}, {"jit_compile": True}
WAYS = [EAGER, GRAPH] if BACKEND == "tensorflow" else [{}]


def trained(checkpointing, way=WAYS[0], seed=0, steps=2, prepare=None, **changes):
    """The weights after some steps with much dropout: sums of gradients."""
    changes = {"dropout": 0.3, "attention_dropout": 0.3, **changes}
    model = classifier(seed, **changes)
    if prepare:
        prepare(model)
    set_gradient_checkpointing(model, checkpointing)
    model.compile(keras.optimizers.SGD(0.5), LOSS, **way)
    keras.utils.set_random_seed(1)
    for _ in range(steps):
        model.train_on_batch(INPUTS, TARGETS)
    return values(model)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_gradients_are_the_same_with_dropout(way):
    plain = trained(False, way)
    same(trained(True, way), plain)
    other = trained(True, way, seed=2)  # other weights and other masks
    assert changed(plain, other) >= {"head/dense/kernel", "embeddings/layer_norm/beta"}


@pytest.mark.slow
@pytest.mark.skipif(BACKEND != "tensorflow", reason="JAX always compiles")
def test_gradients_are_the_same_under_xla():
    same(trained(True, XLA), trained(False, XLA), 1e-5)


@pytest.mark.parametrize("family", ["albert", "deberta"])
def test_gradients_of_families_are_the_same(family):
    changes = {**FAMILIES[family], "num_layers": 3}
    same(trained(True, **changes), trained(False, **changes), 1e-5)


def test_gradients_are_the_same_without_padding_removed():
    def prepare(model):
        kbl.set_unpadding(model, False)

    same(trained(True, prepare=prepare), trained(False, prepare=prepare))


def test_gradients_above_frozen_blocks_are_the_same():
    def prepare(model):
        freeze(model, 1)

    same(trained(True, prepare=prepare), trained(False, prepare=prepare))


def test_dropout_moves_on_from_step_to_step():
    model = classifier(dropout=0.3)
    set_gradient_checkpointing(model)
    keras.utils.set_random_seed(1)
    first, second = (to_numpy(model(INPUTS, training=True)) for _ in range(2))
    assert not np.allclose(first, second)
    keras.utils.set_random_seed(1)
    plain = classifier(dropout=0.3)
    keras.utils.set_random_seed(1)
    np.testing.assert_allclose(to_numpy(plain(INPUTS, training=True)), first, atol=1e-6)
    np.testing.assert_allclose(
        to_numpy(plain(INPUTS, training=True)), second, atol=1e-6
    )


def to_numpy(outputs):
    return keras.ops.convert_to_numpy(outputs["logits"])


def test_learns_under_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        got, want = trained(True, steps=1), trained(False, steps=1)
    same(got, want, 1e-3)


def test_survives_saving_and_cloning(tmp_path):
    model = classifier()
    set_gradient_checkpointing(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for twin in (loaded, keras.models.clone_model(model)):
        assert kbl.encoder_of(twin).get_layer("blocks").gradient_checkpointing
    np.testing.assert_allclose(to_numpy(loaded(INPUTS)), to_numpy(model(INPUTS)))


PROGRAM = """
import sys
import keras, numpy as np
import keras_bert_lite as kbl
from benchmarks.memory import peak_memory
from tests.training.samples import LOSS
sizes = dict(hidden_dim=128, intermediate_dim=512, num_heads=4, num_layers=8)
config = kbl.EncoderConfig(vocabulary_size=100, **sizes)
model = kbl.text_classifier(kbl.encoder(config), ["a", "b"])
kbl.set_unpadding(model, False)
blocks = kbl.encoder_of(model).get_layer("blocks")
blocks.gradient_checkpointing = sys.argv[1] == "True"
model.compile("sgd", LOSS, run_eagerly=sys.argv[2] == "eager", jit_compile=False)
ids = np.ones((4, 512), "int32")
inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": ids > 0}
before = peak_memory()
model.train_on_batch(inputs, np.zeros(4, "int32"))
print((peak_memory() - before) // 2**20)
"""


def megabytes(checkpointing, way):
    """How much memory one step of training takes at its peak."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(checkpointing), way],
        cwd=ROOT,
        env={**os.environ, "TF_NUM_INTRAOP_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout.split()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["eager", "graph"][: len(WAYS)])
def test_takes_less_memory(way):
    kept, recomputed = megabytes(False, way), megabytes(True, way)
    print(f"{way}: {kept} MiB, {recomputed} MiB with checkpointing")
    assert recomputed < 0.6 * kept


@pytest.mark.parametrize("choice", ["full", 1, None])
def test_refuses_choices(choice):
    message = f"`gradient_checkpointing` must be True or False. Received: {choice!r}"
    with pytest.raises(TypeError, match=message):
        set_gradient_checkpointing(tiny.classifier(), choice)


def test_refuses_models_without_encoder():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="`model` must be an encoder or a model"):
        set_gradient_checkpointing(model)
