"""A tied table of tokens on several devices (JAX)."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.paths import ROOT


@pytest.mark.parity
def test_devices_have_the_gradient_of_one():
    """Eight simulated devices: rows split by 8, and by 4 with columns split by 2."""
    pytest.importorskip("jax")
    flags = "--xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "-m", "tests.layers.tied_table_program"],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax", "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    alone, *split = map(np.array, json.loads(done.stdout.splitlines()[-1]))
    assert np.abs(alone).max() > 0.1
    for gradient in split:
        np.testing.assert_allclose(gradient, alone, rtol=1e-5, atol=1e-5)
