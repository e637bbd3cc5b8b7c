"""What is read of random tables equals what was written, or is refused by line.

Some hundred here; `python -m tests.training.data.readers.random_tables 10000` for more.
"""

import pytest

from tests.training.data.readers.random_tables import (
    EQUAL,
    HAS_PANDAS,
    REFUSED,
    WRITERS,
    draw,
    outcome,
)

TABLES = 150  # of a writer


def check(writer, folder):
    results = [outcome(draw(seed, writer), folder) for seed in range(TABLES)]
    different = [x for x in enumerate(results) if x[1] not in (EQUAL, REFUSED)]
    assert not different
    assert results.count(EQUAL) > TABLES // 2


@pytest.mark.parametrize("writer", ["csv", "hand", "json"])
def test_no_table_is_read_in_another_way(writer, tmp_path):
    check(writer, tmp_path)


@pytest.mark.parity
@pytest.mark.skipif(not HAS_PANDAS, reason="pandas is not installed")
def test_no_table_of_pandas_is_read_in_another_way(tmp_path):
    assert "pandas" in WRITERS
    check("pandas", tmp_path)
