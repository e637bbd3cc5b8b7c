"""Turn-taking, pairing and statistics; knows nothing about models."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol


class SideFailedError(Exception):
    """A side could not answer; the others go on without it."""


class Runs(Protocol):
    def run(self, work: Any) -> list[float]:
        """Does the work, or the first part of it; returns seconds piece by piece."""


Round = dict[str, list[float]]


def order(names: Sequence[str], turn: int) -> list[str]:
    """Returns who goes when: each round mirrors or rotates the one before.

    >>> [order(["a", "b", "c"], turn) for turn in range(3)]
    [['a', 'b', 'c'], ['c', 'b', 'a'], ['b', 'c', 'a']]
    """
    first = turn // 2 % max(len(names), 1)
    rotated = [*names[first:], *names[:first]]
    return rotated[::-1] if turn % 2 else rotated


def take_turns(
    sides: Mapping[str, Runs],
    work: Sequence[Any],
    rounds: int,
    seconds: float = float("inf"),
    least: int = 3,
    pause: float = 0.05,
    failed: Callable[[str, Exception], None] = lambda name, error: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Round]:
    """Lets every side do the same work, one after the other, round by round.

    Args:
        sides: The sides by name. One that raises `SideFailedError` is left out
            from then on; the rounds before keep its times.
        work: What there is to do; a round takes the next piece, and the first
            follows the last.
        rounds: The most rounds.
        seconds: No round begins later than this, but the first `least` do.
        least: See `seconds`.
        pause: Seconds between turns, in which the threads of the side before
            stop spinning.
        failed: Is told about sides that fail.
        clock: For tests.

    Returns:
        Each side's seconds, a dictionary a round.
    """
    names, taken, start = list(sides), [], clock()
    for turn in range(rounds):
        if turn >= least and clock() - start > seconds:
            break
        times: Round = {}
        for name in order(names, turn):
            try:
                times[name] = sides[name].run(work[turn % len(work)])
            except SideFailedError as error:
                names.remove(name)
                failed(name, error)
            time.sleep(pause)
        taken.append(times)
    return taken


def ratios(taken: Sequence[Round], side: str, base: str) -> list[float]:
    """Returns `side / base` for the rounds that have both, over what both did."""
    pairs = [(x[side], x[base]) for x in taken if side in x and base in x]
    done = [(a, b, min(len(a), len(b))) for a, b in pairs]
    return [sum(a[:n]) / sum(b[:n]) for a, b, n in done]


def summary(values: Sequence[float]) -> dict[str, float]:
    """Returns the median, the quartiles and the number of values."""
    if not values:
        raise ValueError("`values` must have at least one number. Received: []")
    if len(values) == 1:
        low = high = values[0]
    else:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {
        "median": statistics.median(values),
        "low": low,
        "high": high,
        "n": len(values),
    }
