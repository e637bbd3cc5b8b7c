"""The layers and models under the backends that are not the default."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MODELS = (
    "layers",
    "models/test_encoder_model.py",
    "models/test_own_heads.py",
    "models/tasks/test_classifier.py",
)
PRETRAINING = (
    "models/pretraining/test_bert.py",
    "models/pretraining/test_electra.py",
    "models/test_distillation.py",
    "models/test_word_distillation.py",
    "training/pretraining/test_run.py",
    "training/test_fast_dropout.py",
    "training/test_fused_attention.py",
    "training/test_word_scores.py",
    "training/distillation/test_token_vectors.py::test_goes_on_where_it_was",
    "training/distillation/test_token_vectors.py::test_pairs",
)
# JAX compiles anew for every length of rows, so one test of the file has to do.
WARM_START = "training/test_warm_start.py"
FILES = {
    "jax": (
        *MODELS,
        *PRETRAINING,
        f"{WARM_START}::test_a_classifier_predicts_as_logistic_regression",
    ),
    "torch": (*MODELS, WARM_START),
}


@pytest.mark.parity
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", FILES)
def test_passes_under_backend(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    paths = [str(TESTS / name) for name in FILES[backend]]
    done = subprocess.run(
        # On all cores: the other files of the suite are done long before.
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *paths],
        cwd=TESTS.parent,
        # JAX compiles for long what runs once.
        env={
            **os.environ,
            "KERAS_BACKEND": backend,
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
