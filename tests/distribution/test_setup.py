import json
import os
import random
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.distribution import check_batch, setup
from tests import tiny
from tests.paths import ROOT
from tests.simulated_devices import ENVIRONMENT

PROGRAMS = "tests.distribution"
JAX_TO_TENSORFLOW = "kbl.export_saved_model(kbl.with_text("


def begin(program, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", f"{PROGRAMS}.{program}", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def report(process):
    out, errors = process.communicate()
    assert process.returncode == 0, errors[-4000:]
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What eight simulated devices under JAX leave in a directory."""
    pytest.importorskip("jax")
    directory = tmp_path_factory.mktemp("devices")
    return directory, report(begin("devices_program", directory, **ENVIRONMENT))


@pytest.mark.parity
@pytest.mark.timeout(900)
def test_devices_train_like_one(left):
    """With dropout, clipped gradients, and weights cut in two."""
    np.testing.assert_allclose(left[1]["devices"], left[1]["alone"], rtol=1e-6)


@pytest.mark.parity
def test_description(left):
    directory, found = left
    assert found["description"].split("\n") == [
        "devices: 8 cpu (cpu), 1 process",
        "mesh: batch 4 x model 2",
        f"compilation cache: {directory / 'cache'}",
    ]
    assert found["cache"] == str(directory / "cache")


@pytest.mark.parity
def test_shards(left):
    shards, block = left[1]["shards"], "blocks/block_0"
    assert shards["embeddings/token_embedding/embeddings"] == [None, "model"]
    assert shards[f"{block}/attention/query/bias"] == ["model"]
    assert shards[f"{block}/feed_forward/output_dense/kernel"] == ["model", None]
    assert shards["pooler/dense/kernel"] == [None, None]


@pytest.mark.parity
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("batch of arrays", "must divide by the 8 devices that share its rows"),
        ("batch", "Received: a batch of 12 rows"),
        ("last batch", "`drop_remainder=True` for data sets whose last batch"),
        ("strings", "TypeError: `x` must be ids"),
        ("check_batch", "`batch_size` must divide by the 8 devices"),
        ("sequence_length", "must be at most 24, the length of the model's position"),
        ("long rows", "longer than the position table. Received: `token_ids` of"),
        ("model", "`model` must divide the number of devices, 8. Received: 3"),
        ("layout alone", "so `model` must be at least 2"),
        ("vocabulary", "71 does not divide by the 2 devices of the axis 'model'"),
        ("key", "Received: 'query/kernel', which matches none of the"),
        ("with_text", JAX_TO_TENSORFLOW),
        ("export_saved_model", JAX_TO_TENSORFLOW),
        ("export_tf_hub", JAX_TO_TENSORFLOW),
        ("finetune", JAX_TO_TENSORFLOW),
    ],
)
def test_refused(left, name, message):
    assert message in left[1]["refused"][name]


@pytest.mark.parity
def test_jax_to_tensorflow(left, tmp_path):
    """The line of docs/how_to/serve_what_was_trained_under_jax.md."""
    directory, _ = left
    model = keras.models.load_model(directory / "model.keras")
    path = kbl.export_saved_model(kbl.with_text(model, tiny.preprocessor()), tmp_path)
    served = tf.saved_model.load(path).signatures["serving_default"]
    answers = served(text=tf.constant(tiny.TEXTS))
    expected = np.load(directory / "outputs.npz")["arr_0"]
    np.testing.assert_allclose(answers["scores"], expected, atol=1e-5)


@pytest.mark.parity
@pytest.mark.timeout(900)
def test_two_processes():
    """Slurm's variables are all that tells two processes of each other."""
    pytest.importorskip("jax")
    job = {
        "KERAS_BACKEND": "jax",
        "SLURM_JOB_ID": str(random.randrange(4096)),  # JAX's port follows from it
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_NTASKS": "2",
    }
    both = [
        begin("process_program", **job, SLURM_PROCID=str(i), SLURM_LOCALID=str(i))
        for i in range(2)
    ]
    first, second = map(report, both)
    assert first["description"].split("\n")[:2] == [
        "devices: 2 cpu (cpu), 2 processes (from Slurm), this is number 0",
        "mesh: batch 2",
    ]
    assert first["weights"] == second["weights"]


@pytest.mark.tensorflow(reason="it is about other backends than JAX")
def test_one_device_of_tensorflow():
    found = setup(num_processes=1)
    assert (found.num_devices, found.num_processes) == (1, 1)
    assert str(found).startswith("devices: 1 ")
    assert keras.distribution.distribution() is None


@pytest.mark.tensorflow(reason="it is about other backends than JAX")
@pytest.mark.parametrize(
    "given",
    [
        {"model": 2},
        {"job_addresses": "localhost:1", "num_processes": 2, "process_id": 0},
    ],
)
def test_several_devices_need_jax(given):
    with pytest.raises(NotImplementedError, match="KERAS_BACKEND=jax"):
        setup(**given)


@pytest.mark.parametrize("given", [{"model": 0}, {"timeout": 0}])
def test_refuses_arguments(given):
    with pytest.raises(ValueError, match=r"a positive integer\. Received: 0"):
        setup(**given)


def test_check_batch():
    check_batch(3)
    check_batch(3, 24, tiny.encoder())
    check_batch(3, 4096, tiny.encoder(max_sequence_length=None))
    with pytest.raises(ValueError, match="must be at most 24"):
        check_batch(3, 25, tiny.encoder())
