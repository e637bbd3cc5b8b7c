"""Sides in other environments."""

import sys

import pytest

from benchmarks.inference.harness import SideFailedError
from benchmarks.inference.sides import ENVIRONMENTS, OURS, SIDES, python_of
from benchmarks.inference.worker import Worker


def test_interpreters():
    assert set(ENVIRONMENTS) <= set(SIDES)
    assert python_of(OURS, "load") == sys.executable
    assert python_of("fastembed", "prepare") == sys.executable
    assert python_of("fastembed", "load").endswith("/.venv-fastembed/bin/python")
    assert python_of("zeromodels", "prepare") == python_of("zeromodels", "load")


def test_a_missing_environment_is_named(tmp_path):
    python = str(tmp_path / ".venv-none" / "bin" / "python")
    with pytest.raises(SideFailedError, match=r"needs `make \.venv-none/ready`"):
        Worker("fastembed", tmp_path, tmp_path / "side", python)


def test_a_side_that_cannot_start_says_why(tmp_path):
    worker = Worker("none", tmp_path, tmp_path / "side", sys.executable)
    with pytest.raises(SideFailedError, match="KeyError: 'none'"):
        worker.load()
    worker.close()
