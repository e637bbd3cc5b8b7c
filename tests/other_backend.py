"""Programs under another backend, in a process of their own."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT


def run_under(backend: str, *arguments: str) -> str:
    """Runs Python under a backend, or skips the test if it is not installed.

    Returns:
        What it printed.
    """
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
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
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return done.stdout
