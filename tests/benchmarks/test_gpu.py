"""The script at tiny size, on a CPU: who lays out what, and that every side trains."""

import json
import math
import os
import subprocess
import sys

import keras
import numpy as np
import pytest

from benchmarks.gpu import sides, worker, workloads
from benchmarks.gpu.__main__ import summary
from benchmarks.gpu.workloads import Workload
from tests import tiny
from tests.paths import ROOT

SIZES = {**sides.TINY, "vocabulary_size": len(tiny.VOCABULARY)}
WORDS = Workload("masked words", 128, "real lengths")
CLASSES = Workload("classifier", 128, "padded")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two steps of four texts."""
    data = tmp_path_factory.mktemp("data")
    texts = [f"the {'fine ' * (3 * i)}day" for i in range(9)]
    files = {
        workloads.FILES[128]: "\n".join(f"{x}\t1" for x in ["sentence", *texts]),
        workloads.FILES[512]: "\n".join([" = day = ", "", *texts]),
        workloads.VOCABULARY: "\n".join(tiny.VOCABULARY),
    }
    for name, text in files.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text, encoding="utf-8")
    for length in (128, 512):
        workloads.write_steps(data, length, 4, 2, data / f"{length}.json")
    assert (data / "128.json").read_text() == (data / "512.json").read_text()
    return data / "128.json"


@pytest.fixture
def steps(path):
    return workloads.read_steps(path)[1]


@pytest.fixture
def _policy():
    before = keras.config.dtype_policy()
    yield
    keras.config.set_dtype_policy(before)


def test_every_layout_has_the_same_words(steps):
    def words(arrays):
        """The ids, and what is hidden where in its text."""
        real = arrays["padding_mask"]
        ids = sorted(arrays["token_ids"][real].tolist())
        shown = np.take_along_axis(
            arrays["token_ids"], arrays["masked_positions"], axis=1
        )
        there = arrays["weights"] > 0
        assert set(shown[there]) == {tiny.VOCABULARY.index("[MASK]")}
        return ids, sorted(arrays["hidden"][there].tolist())

    packed = workloads.packed(steps, 64)
    for step, dense in zip(steps, packed, strict=True):
        wide, narrow = workloads.padded(step, 128), workloads.bucketed(step, 128)
        assert words(wide) == words(narrow) == words(dense)
        assert wide["token_ids"].shape == (4, 128)
        assert len(wide["token_ids"]) > len(dense["token_ids"])
    assert workloads.tokens(steps) == sum(x["padding_mask"].sum() for x in packed)
    assert packed[0]["token_ids"].shape == packed[1]["token_ids"].shape
    assert [x["token_ids"].shape[1] for x in map(_bucketed, steps)] == [32, 32]


def _bucketed(step):
    return workloads.bucketed(step, 128)


@pytest.mark.tensorflow(reason="a side of TensorFlow")
@pytest.mark.usefixtures("_policy")
def test_tensorflow_trains(steps):
    epoch = sides.keras_bert_lite(CLASSES, steps, SIZES, unpadding=True)
    assert all(math.isfinite(x) for x in epoch().history["loss"])


@pytest.mark.parity
@pytest.mark.parametrize("work", [WORDS, CLASSES], ids=lambda x: x.name)
def test_transformers_trains(work, steps):
    assert len(worker.seconds(sides.transformers(work, steps, SIZES), 1)) == 1


@pytest.mark.parity
def test_a_process_prints_its_seconds(path):
    """Packed rows under JAX."""
    command = [sys.executable, "-m", "benchmarks.gpu.worker", "JAX", path]
    done = subprocess.run(
        [*command, WORDS.task, "128", WORDS.rows, "2", "--tiny"],
        env={**os.environ, **worker.QUIET, **worker.SIDES["JAX"][0]},
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    )
    assert len(json.loads(done.stdout.splitlines()[-1])["seconds"]) == 2


def test_table_has_medians_ratios_and_failures():
    runs = [
        {"side": "JAX", "work": "w", "tokens": 100, "seconds": [1.0, 0.5, 0.1]},
        {"side": "transformers", "work": "w", "tokens": 100, "seconds": [2.0]},
        {"side": "TensorFlow", "work": "w", "tokens": 100, "error": "no memory"},
    ]
    assert summary(runs).splitlines()[2:] == [
        "| w | JAX | 200 | 4.00 |",
        "| w | TensorFlow | failed |  |",
        "| w | transformers | 50 | 1.00 |",
    ]
