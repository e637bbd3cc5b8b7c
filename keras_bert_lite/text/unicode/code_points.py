"""Reads the generated tables: hexadecimal ranges such as `41-5A`, pairs `130>69`."""

from collections.abc import Iterable


def ranges(text: str) -> list[range]:
    """Returns the ranges of a table."""
    spans = (part.partition("-") for part in text.split())
    return [range(int(a, 16), int(b or a, 16) + 1) for a, _, b in spans]


def code_points(text: str) -> frozenset[int]:
    """Returns the code points in the ranges of a table."""
    return frozenset(c for span in ranges(text) for c in span)


def pairs(text: str) -> dict[str, str]:
    """Returns the characters of a table of pairs."""
    halves = (part.partition(">") for part in text.split())
    return {chr(int(a, 16)): chr(int(b, 16)) for a, _, b in halves}


def character_class(code_points: Iterable[int]) -> str:
    """Returns a character class of RE2."""
    spans: list[list[int]] = []
    for c in sorted(code_points):
        if spans and spans[-1][1] == c - 1:
            spans[-1][1] = c
        else:
            spans.append([c, c])
    return "[" + "".join(rf"\x{{{a:x}}}-\x{{{b:x}}}" for a, b in spans) + "]"
