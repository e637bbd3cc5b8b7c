"""Training steps compiled for TPUs."""

import importlib.util
import json
import math
import os
import subprocess
import sys

import pytest

from benchmarks.tpu.hlo import collectives, elementwise
from tests.benchmarks.tpu_program import LENGTH, ROWS, VOCABULARY, WIDTH, WORDS
from tests.paths import ROOT

PROGRAM = """
%fused (p: bf16[4,8]) -> f32[4,8] {
  %p.1 = bf16[4,8]{1,0} parameter(0)
  %x = u32[4,8]{1,0:T(8,128)} xor(%a, %b)
  ROOT %y = f32[4,8]{1,0} multiply(%c, %d)
}
ENTRY %main {
  %g = (f32[2,8]{1,0}, f32[4,8]{1,0}) all-gather-start(%x), dimensions={0}
  %r = (f32[3]{0}, f32[]) all-reduce(%u, %v), to_apply=%add
}
"""


def test_operations_on_elements_are_counted():
    assert elementwise(PROGRAM) == {"integer": 32e-9, "float": 32e-9}


def test_collectives_are_counted_by_shape():
    assert collectives(PROGRAM) == {
        ("all-gather", "f32[4,8]"): 1,
        ("all-reduce", "f32[3]"): 1,
        ("all-reduce", "f32[]"): 1,
    }


@pytest.mark.tpu
@pytest.mark.parametrize("first", [10, 40, 70])
def test_the_largest_batch_is_searched_in_both_directions(first):
    from benchmarks.tpu.largest import search

    found = search(lambda rows: rows / 10 if rows <= 45 else None, first, 10)
    assert found == (40, 4.0, 50)


@pytest.fixture(scope="module")
def compiled():
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip("libtpu is not installed (extra `tpu`)")
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.tpu_program"],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def sizes(shape: str) -> list[int]:
    return [int(x) for x in shape.split("[")[1].rstrip("]").split(",") if x]


@pytest.mark.tpu
def test_chips_that_split_rows_exchange_only_gradients(compiled):
    largest = max(math.prod(shape) for shape in compiled["weights"])
    for operation, shape, _ in compiled["data"]:
        assert operation == "all-reduce"
        assert math.prod(sizes(shape)) <= largest
        for length in (LENGTH, WORDS):  # no activations
            assert sizes(shape)[:2] != [ROWS // 4, length]


@pytest.mark.tpu
@pytest.mark.parametrize("name", ["data", "data x model"])
def test_chips_exchange_the_table_of_tokens_once(compiled, name):
    """It is tied: what looks tokens up and what scores words have a gradient each."""
    found = [x for x in compiled[name] if sizes(x[1]) == [VOCABULARY, WIDTH]]
    assert found == [["all-reduce", f"f32[{VOCABULARY},{WIDTH}]", 1]]


@pytest.mark.tpu
def test_chips_that_split_heads_exchange_each_block_four_times(compiled):
    found = compiled["data x model"]
    assert {operation for operation, *_ in found} == {"all-reduce"}
    rows = [ROWS // 2, LENGTH, WIDTH]
    # The outputs of attention and feed-forward, and the gradients of their inputs.
    assert sum(count for _, shape, count in found if sizes(shape) == rows) == 4


@pytest.mark.tpu
def test_fast_dropout_draws_with_a_tenth_of_the_operations(compiled):
    assert compiled["rbg"] < 0.1 * compiled["threefry"]


@pytest.mark.tpu
def test_the_attention_kernel_is_compiled(compiled):
    assert compiled["kernel: calls"] == 2  # forward and backward
    assert compiled["kernel"] == []


@pytest.mark.tpu
def test_chips_that_split_rows_and_heads_exchange_nothing_for_the_kernel(compiled):
    assert compiled["kernel, data x model: calls"] == 2
    found = compiled["kernel, data x model"]
    assert {operation for operation, *_ in found} == {"all-reduce"}
    rows = [ROWS // 2, LENGTH, WIDTH]
    assert sum(count for _, shape, count in found if sizes(shape) == rows) == 4
