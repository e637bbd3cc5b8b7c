"""The README's example runs as printed."""

import subprocess
import sys
from pathlib import Path

import keras
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="the example exports a SavedModel"
)
def test_example(tmp_path):
    script = ROOT / "tests" / "readme_example.py"
    command = [sys.executable, str(script), str(ROOT / "README.md")]
    subprocess.run(command, check=True, cwd=tmp_path)
