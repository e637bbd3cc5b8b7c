"""The exchange with KerasHub under another backend than the default."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.parity
@pytest.mark.timeout(900)
def test_passes_under_jax():
    pytest.importorskip("jax")
    path = str(TESTS / "checkpoints" / "test_keras_hub.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", path, "-k", "backbone or masked_lm"],
        cwd=TESTS.parent,
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
