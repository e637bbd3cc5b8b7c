"""The list of quick tests names what is there, and each entry adds something."""

import ast

import pytest

from tests.paths import ROOT
from tests.quick import NOT_QUICK, QUICK, is_quick, may_be_quick

TESTS = ROOT / "tests"


@pytest.mark.parametrize("entry", [*QUICK, *NOT_QUICK])
def test_entry_is_there(entry):
    file, *names = entry.partition("[")[0].split("::")
    if not names:
        assert (TESTS / file).exists()
        return
    body = ast.parse((TESTS / file).read_text("utf-8")).body
    for name in names:
        (found,) = (x for x in body if getattr(x, "name", None) == name)
        body = found.body


def test_entries_are_sorted_into_quick_and_not():
    assert is_quick("text/test_windows.py::TestPreprocessor::test_x[1]")
    assert is_quick("training/metrics/test_f1.py::test_x")
    assert not is_quick("text/test_windows.pyx::test_x")
    assert not is_quick("text/test_preprocessor.py::TestGraph::test_function[1]")
    assert may_be_quick("checkpoints/test_fuzzed.py")
    assert not may_be_quick("checkpoints/test_google.py")


def test_each_exception_is_of_an_entry():
    assert [x for x in NOT_QUICK if not any(x.startswith(y) for y in QUICK)] == []
