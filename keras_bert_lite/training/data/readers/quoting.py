"""Whether quotation marks enclose the values of a table between tabs."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from keras_bert_lite.training.data.readers.lines import Line, read_lines

MARK = '"'
_ENCLOSED = re.compile('"(?:[^"]|"")*"')
_NO_STRING = re.compile(
    "True|False|None|[+-]?(?:nan|inf|[0-9.]*(?:e[+-]?[0-9]+)?)", re.IGNORECASE
)


def is_quoted(path: Path, comments: str | None, header: bool) -> bool:
    """Returns whether quotation marks enclose values, in a file of lines with tabs.

    They do in a file that a program wrote: wherever there is a mark, the value is
    enclosed and the marks inside are doubled. Besides, the names of columns are
    enclosed; or marks were needed, as a value holds one, a tab, a line end or a comma
    (which spreadsheets enclose). Files such as GLUE's have marks of their own.

    Args:
        path: Of the file.
        comments: What the lines begin with that are skipped.
        header: Whether the first row has the names of columns.

    Raises:
        ValueError: If the file may be read in both ways.
    """
    minimal = strings = named = True  # enclosed: what needs it, all strings, the names
    certain = False
    first = wide = None  # where values are enclosed, and where they hold tabs or ends
    top = 0  # the line of the names
    for line, value in _values(path, comments):
        top = top or line.number
        if MARK not in value:
            strings = strings and _NO_STRING.fullmatch(value) is not None
            named = named and line.number != top
        elif not _ENCLOSED.fullmatch(value):
            return False
        else:
            inner = value[1:-1]
            spans = "\t" in inner or "\n" in inner
            first = first or line
            wide = wide or (line if spans else None)
            empty_row = value == line.text == MARK + MARK
            certain = certain or empty_row or (MARK in inner and not spans)
            needs = spans or empty_row or any(x in inner for x in (MARK, ",", "\r"))
            minimal = minimal and needs
        if not (minimal or strings or (header and named)):
            return False
    if first is None:
        return False
    if (header and named) or (minimal and certain):
        return True
    if wide is not None or (strings and not header):
        line = wide or first
        raise line.error(
            "may be read in two ways: `quoting=True` takes its marks for the ends of "
            f"values, `quoting=False` for text. Received: {line.text[:200]!r}"
        )
    return False


def _values(path: Path, comments: str | None) -> Iterator[tuple[Line, str]]:
    """Yields values with their marks, as quoting would divide them, and their lines."""
    begun: Line | None = None
    parts: list[str] = []
    marks = length = 0
    for line in read_lines(path):
        if begun is None and (not line.text or _is_comment(line, comments)):
            continue
        for number, piece in enumerate(line.text.split("\t")):
            if begun is None and not piece.startswith(MARK):
                yield line, piece
                continue
            if begun is not None:
                parts.append("\t" if number else "\n")
            begun = begun or line
            parts.append(piece)
            marks += piece.count(MARK)
            length += len(piece)
            if marks % 2 == 0 or length > csv.field_size_limit():
                yield begun, "".join(parts)
                begun, parts, marks, length = None, [], 0, 0
    if begun is not None:
        yield begun, "".join(parts)


def _is_comment(line: Line, comments: str | None) -> bool:
    return comments is not None and line.text.startswith(comments)


def enclosed_values(path: Path) -> list[str]:
    """Returns the lines of values that are enclosed, with the marks inside doubled."""
    return [
        line.text
        for line in read_lines(path)
        for value in line.text.split("\t")
        if MARK in value and _ENCLOSED.fullmatch(value)
    ]
