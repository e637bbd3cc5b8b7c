"""Programs of the tests that run under JAX on eight simulated devices."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.paths import ROOT

ENVIRONMENT = {
    "KERAS_BACKEND": "jax",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
}


def printed(program: str) -> Any:
    """Returns the JSON of the last line that a module prints."""
    pytest.importorskip("jax")
    done = subprocess.run(
        [sys.executable, "-m", program],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])
