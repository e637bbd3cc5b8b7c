"""An environment that asks TensorFlow for a Keras 2 which is not installed."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.paths import ROOT

IMPORT = ("-c", "import keras_bert_lite")
COMMAND = ("-c", "import keras_bert_lite_command as c; c.main(['check', 'nowhere'])")


@pytest.mark.skipif(
    importlib.util.find_spec("tf_keras") is not None, reason="Keras 2 is installed"
)
@pytest.mark.parametrize("arguments", [IMPORT, COMMAND], ids=["import", "command"])
def test_a_missing_keras_2_is_named(arguments):
    process = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"TF_USE_LEGACY_KERAS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 1
    (*_, last) = process.stderr.splitlines()
    assert last.startswith(("ImportError: ", "error: ")), process.stderr
    assert "unset the variable before TensorFlow is imported, or `pip inst" in last
    assert last.endswith("Received: TF_USE_LEGACY_KERAS=1")
