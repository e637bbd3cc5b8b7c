"""Reading tab-separated and comma-separated values."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert_lite.training.data.readers.lines import (
    Line,
    Paths,
    as_paths,
    read_lines,
    read_rows,
    suffix,
)
from keras_bert_lite.training.data.records import Record, Records

DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
Row = tuple[Line, list[str]]  # the line where it begins, and its values


def read_csv(
    path: Paths,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    quoting: bool | None = None,
    converters: Mapping[str, Callable[[str], Any]] | None = None,
) -> Records:
    r"""Reads the rows of a table as records, one at a time.

    Empty lines are skipped. Without quoting, every line is a row and quotation marks
    are ordinary characters, as in GLUE's files. With quoting, a quoted value may
    contain delimiters, line ends and doubled quotation marks.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        columns: The names of the columns, for files without a header. `None`: each
            file's first row is the header.
        delimiter: The delimiter of values; `None`: a tab in `.tsv` and `.tab`
            files, a comma in `.csv` files.
        quoting: Whether values may be quoted; `None`: only if the delimiter is not
            a tab.
        converters: Functions that convert strings to values, by column, such as
            `{"label": int}`.

    Returns:
        `Records`. Each pass reads the file again.

    Raises:
        ValueError: At once, if the delimiter is unknown. During a pass, naming file
            and line: if a row does not have one value per column, a value cannot be
            converted, quoting is malformed, a value in a quoted file is longer than
            `csv.field_size_limit()`, lines end with CR alone, or a line is not
            UTF-8.
        FileNotFoundError: If a file does not exist.

    Example:

    >>> with open("train.tsv", "w") as file:
    ...     print("sentence\tlabel\nfine weather\t1", file=file)
    >>> rows = kbl.data.read_csv("train.tsv", converters={"label": int})
    >>> next(iter(rows))
    {'sentence': 'fine weather', 'label': 1}

    Reference: [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), for quoting.
    """
    if columns is not None:
        _check_names(columns, "`columns`")
    forms = [(each, delimiter or _delimiter(each)) for each in as_paths(path)]

    def read() -> Iterator[Record]:
        for each, between in forms:
            quoted = between != "\t" if quoting is None else quoting
            rows = (_quoted_rows if quoted else _plain_rows)(each, between)
            yield from _records(each, rows, columns, converters or {})

    return Records(read)


def _delimiter(path: Path) -> str:
    if suffix(path) not in DELIMITERS:
        raise ValueError(
            f"`delimiter` must be given for files other than {sorted(DELIMITERS)}. "
            f"Received: delimiter=None, path={str(path)!r}"
        )
    return DELIMITERS[suffix(path)]


def _plain_rows(path: Path, delimiter: str) -> Iterator[Row]:
    for line in read_rows(path):
        if line.text:
            yield line, line.text.split(delimiter)


def _quoted_rows(path: Path, delimiter: str) -> Iterator[Row]:
    lines = (f"{line.text}\n" for line in read_lines(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = Line(path, reader.line_num + 1, "")
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise start.error(f"must be a row of values. Received: {error}") from None
        if values:
            yield start, values


def _records(
    path: Path,
    rows: Iterator[Row],
    columns: Sequence[str] | None,
    converters: Mapping[str, Callable[[str], Any]],
) -> Iterator[Record]:
    if columns is None:
        line, columns = next(rows, (None, []))
        if line is None:
            raise ValueError(f"{path}: must begin with the columns' names. It is empty")
        _check_names(columns, f"{path}:{line.number}: the columns")
    if unknown := set(converters) - set(columns):
        raise ValueError(
            f"`converters` must name columns of {path}, {list(columns)}. "
            f"Received: {sorted(unknown)}"
        )
    for line, values in rows:
        if len(values) != len(columns):
            raise line.error(
                f"must have {len(columns)} values, one for each of {list(columns)}. "
                f"Received: {len(values)}, {str(values)[:200]}"
            )
        record = dict(zip(columns, values, strict=True))
        yield {**record, **_converted(record, converters, line)}


def _converted(record: Record, converters: Mapping, line: Line) -> Record:
    converted = {}
    for name, convert in converters.items():
        try:
            converted[name] = convert(record[name])
        except (ValueError, TypeError, KeyError) as error:
            raise line.error(
                f"column {name!r} must be convertible by {convert!r}. "
                f"Received: {record[name]!r} ({error})"
            ) from error
    return converted


def _check_names(columns: Sequence[str], what: str) -> None:
    if isinstance(columns, str) or not columns or len(set(columns)) < len(columns):
        raise ValueError(f"{what} must be different names. Received: {columns!r}")
