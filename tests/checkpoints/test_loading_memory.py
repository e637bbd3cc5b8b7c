"""The memory that loading takes at the size of BERT-large."""

import subprocess
import sys

import pytest

from tests.paths import ROOT


def program(*arguments):
    command = [sys.executable, "-m", "benchmarks.loading_memory", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.split()


@pytest.mark.slow
def test_peak(tmp_path):
    where = ("--directory", str(tmp_path))
    program("--side", "write", *where)
    taken, _ = program("--side", "keras_bert_lite", *where)
    weights = (tmp_path / "model.safetensors").stat().st_size
    assert weights > 2**30
    assert int(taken) < 1.3 * weights
