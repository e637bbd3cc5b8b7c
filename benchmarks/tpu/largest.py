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
    held = {first: fits(first)}
    low = high = first
    stride = step  # doubled until one number fits and another does not
    while held[high] is not None:
        low, high = high, high + stride
        held[high], stride = fits(high), 2 * stride
    while held[low] is None:
        if low <= step:
            raise ValueError(f"a batch must fit. Received: {low} rows, which do not")
        low, high = max(low - stride, step), low
        held[low], stride = fits(low), 2 * stride
    while high - low > step:
        middle = low + (high - low) // step // 2 * step
        held[middle] = fits(middle)
        low, high = (low, middle) if held[middle] is None else (middle, high)
    return low, held[low], high
