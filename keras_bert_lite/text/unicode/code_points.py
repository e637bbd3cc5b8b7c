"""Reads the generated tables: hexadecimal ranges such as `41-5A`, pairs `130>69`."""


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
