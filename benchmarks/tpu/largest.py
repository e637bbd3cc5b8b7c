"""The largest batch that a chip holds, found by compiling whole steps."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax

from benchmarks.tpu.cases import Case, compiled
from benchmarks.tpu.compiling import measures

TOKENS = 8192  # by which batches are made larger and smaller


def record(case: Case) -> dict[str, Any]:
    """Searches upwards or downwards from the rows of a case."""

    def fits(rows: int) -> float | None:
        try:
            step = compiled(dataclasses.replace(case, rows=rows), case.layers)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            return None
        return measures(step)["gib"]

    rows, gib, refused = search(fits, case.rows, TOKENS // case.length)
    found = dataclasses.asdict(dataclasses.replace(case, rows=rows))
    return {**found, "layers": case.layers, "gib": round(gib, 2), "refused": refused}


def search(
    fits: Callable[[int], float | None], first: int, step: int
) -> tuple[int, float, int]:
    """Returns the most rows that fit, what they hold, and the least that do not.

    Args:
        fits: Returns what so many rows hold, or `None`.
        first: Where to begin.
        step: The distance between numbers of rows.

    Raises:
        ValueError: If no number of rows fits.
    """
    rows, held = first, fits(first)
    if held is not None:
        while (more := fits(rows + step)) is not None:
            rows, held = rows + step, more
        return rows, held, rows + step
    while rows > step:
        rows -= step
        held = fits(rows)
        if held is not None:
            return rows, held, rows + step
    raise ValueError(f"a batch must fit. Received: {rows} rows, which do not")
