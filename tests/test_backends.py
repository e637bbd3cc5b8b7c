"""The layers and models under the backends that are not the default."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MODELS = ("models/test_encoder.py", "models/test_classifier.py")


@pytest.mark.parity
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_passes_under_backend(backend):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    paths = [str(TESTS / name) for name in ("layers", *MODELS)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *paths],
        cwd=TESTS.parent,
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
