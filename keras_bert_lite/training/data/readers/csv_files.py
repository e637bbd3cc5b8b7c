"""Reading tab-separated and comma-separated values."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert_lite.checks import check_choice
from keras_bert_lite.training.data.readers.lines import (
    Line,
    Paths,
    as_paths,
    check_comments,
    check_no_cr,
    read_lines,
    suffix,
)
from keras_bert_lite.training.data.readers.quoting import enclosed_values, is_quoted
from keras_bert_lite.training.data.records import Record, Records

DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}  # by a file's ending
OTHERS = ("\t", ";", ",", "|")  # what a table's values are usually between
Row = tuple[Line, list[str]]  # the line where it begins, and its values


def read_csv(
    path: Paths,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    quoting: bool | None = None,
    converters: Mapping[str, Callable[[str], Any]] | None = None,
    comments: str | None = None,
    extra_values: str = "error",
) -> Records:
    r"""Reads the rows of a table as records, one at a time.

    Without quoting, every line is a row and quotation marks are ordinary characters,
    as in GLUE's files. With quoting, a quoted value may contain delimiters, line ends
    and doubled quotation marks. Empty lines are skipped, but where a row may be one:
    in a table of one column.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        columns: The names of the columns, for files without a header. `None`: each
            file's first row is the header.
        delimiter: The delimiter of values; `None`: a tab in `.tsv` and `.tab`
            files, a comma in `.csv` files.
        quoting: Whether values may be quoted. `None`: they may, unless the delimiter
            is a tab. Values between tabs may if every value with a quotation mark is
            quoted and one holds such a mark, or if the header and all strings are
            quoted, as spreadsheets and programs write them.
        converters: Functions that convert strings to values, by column, such as
            `{"label": int}`.
        comments: What the lines begin with that are skipped, such as `"#"`; `None`:
            there are none.
        extra_values: `"error"` refuses a row with more values than columns.
            `"ignore"` leaves out those beyond the last column.

    Returns:
        `Records`. Each pass reads the file again.

    Raises:
        ValueError: At once, if the delimiter is unknown. During a pass, naming file
            and line: if a row does not have one value per column, a table of one
            column has an empty line or other delimiters in its header, a value
            cannot be converted, quoting is malformed, quoted values between tabs
            would hold tabs or line ends and `quoting` is `None`, a value in a quoted
            file is longer than `csv.field_size_limit()`, lines end with CR alone, or
            with CR LF after a first one with LF, or a line is not UTF-8.
        FileNotFoundError: If a file does not exist.

    Example:

    >>> with open("train.tsv", "w") as file:
    ...     print("sentence\tlabel\nfine weather\t1", file=file)
    >>> rows = kbl.data.read_csv("train.tsv", converters={"label": int})
    >>> next(iter(rows))
    {'sentence': 'fine weather', 'label': 1}

    Reference: [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), for quoting.
    """
    return read_table(
        path, columns, delimiter, quoting, converters, comments, extra_values
    )


def read_table(
    path: Paths,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    quoting: bool | None = None,
    converters: Mapping[str, Callable[[str], Any]] | None = None,
    comments: str | None = None,
    extra_values: str = "error",
    ending: str | None = None,
) -> Records:
    """Reads a table; see `read_csv`.

    Args:
        path, columns, delimiter, quoting, converters, comments, extra_values: See
            `read_csv`.
        ending: The ending that tells the delimiter; `None`: that of the file.
    """
    if columns is not None:
        _check_names(columns, "`columns`")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise ValueError(
            "`delimiter` must be one character, no quotation mark or line end. "
            f"Received: {delimiter!r}"
        )
    check_comments(comments)
    check_choice("extra_values", extra_values, ("error", "ignore"))
    forms = [(each, delimiter or _delimiter(each, ending)) for each in as_paths(path)]
    quoted = {each: quoting for each, _ in forms}

    def read() -> Iterator[Record]:
        for each, between in forms:
            if quoted[each] is None:
                quoted[each] = between != "\t" or is_quoted(
                    each, comments, header=columns is None
                )
            read_values = _quoted_rows if quoted[each] else _plain_rows
            table = _Table(each, columns, delimiter, comments, extra_values == "ignore")
            for line, values in table.rows(read_values(each, between, comments)):
                record = dict(zip(table.columns, values, strict=True))
                yield {**record, **_converted(record, converters or {}, line)}

    return Records(read)


def _delimiter(path: Path, ending: str | None) -> str:
    ending = ending or suffix(path)
    if ending not in DELIMITERS:
        raise ValueError(
            f"`delimiter` must be given for files other than {sorted(DELIMITERS)}. "
            f"Received: delimiter=None, path={str(path)!r}"
        )
    return DELIMITERS[ending]


def unread_quotes(
    path: Path, delimiter: str | None = None, ending: str | None = None
) -> list[str]:
    """Returns the lines whose quotation marks `read_csv` keeps, though they enclose."""
    tabs = (delimiter or _delimiter(path, ending)) == "\t"
    try:
        return [] if not tabs or is_quoted(path, None, True) else enclosed_values(path)
    except ValueError:  # says so when the table is read
        return []


def _plain_rows(path: Path, delimiter: str, comments: str | None) -> Iterator[Row]:
    ends = _LineEnds()
    for line in read_lines(path, keep_ends=True):
        text = ends.strip(line)
        check_no_cr(line, text)
        if comments is None or not text.startswith(comments):
            yield line, text.split(delimiter) if text else []


def _quoted_rows(path: Path, delimiter: str, comments: str | None) -> Iterator[Row]:
    ends = _LineEnds()
    row: list[Line] = []  # its lines

    def lines() -> Iterator[str]:
        for line in read_lines(path, keep_ends=True):
            if row or comments is None or not line.text.startswith(comments):
                row.append(line)
                yield line.text

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        row.clear()
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise row[0].error(f"must be a row of values. Received: {error}") from None
        if ends.strip(row[-1]).endswith("\r"):
            check_no_cr(row[-1], "\r")
        yield row[0], values


class _LineEnds:
    """Removes the ends of rows, which are alike: a CR before one may be a value's."""

    def __init__(self) -> None:
        self._first = ""

    def strip(self, line: Line) -> str:
        text = line.text.removesuffix("\n")
        if text == line.text:  # of the file's last line
            return text
        end = "CR LF" if text.endswith("\r") else "LF"
        self._first = self._first or end
        if (self._first, end) == ("LF", "CR LF"):
            raise line.error(
                "must end with LF, as the first line does, so that no CR is lost. "
                f"Received: CR LF, after {text[:-1][-100:]!r}"
            )
        return text.removesuffix("\r")


class _Table:
    """Rows of a file as long as its columns.

    Args:
        path, columns: See `read_csv`. After the first row `columns` are the header's.
        delimiter: If it was given.
        comments: See `read_csv`, for messages.
        cut: Whether rows may be longer.
    """

    def __init__(
        self,
        path: Path,
        columns: Sequence[str] | None,
        delimiter: str | None,
        comments: str | None,
        cut: bool,
    ) -> None:
        self.columns: Sequence[str] = columns or ()
        self._path, self._cut = path, cut
        self._delimiter, self._comments = delimiter, comments

    def rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Yields the rows, the header first if there are no columns yet."""
        empty = None  # a line before the header
        for line, values in rows:
            if self.columns:
                yield from self._fit(line, values)
            elif values:
                self._check_header(line, values)
                self.columns = values
                if empty is not None:
                    list(self._fit(empty, []))
            else:
                empty = line
        if not self.columns:
            raise ValueError(
                f"{self._path}: must begin with the columns' names. It is empty"
            )

    def _check_header(self, line: Line, values: list[str]) -> None:
        _check_names(values, f"{line.path}:{line.number}: the columns")
        advice = self._advice(line.text, values) if len(values) == 1 else ""
        if advice:
            raise line.error(
                f"must be the names of columns{advice}. "
                f"Received: {values[0]!r}, one name"
            )

    def _fit(self, line: Line, values: list[str]) -> Iterator[Row]:
        width = len(self.columns)
        if not values:
            if width == 1:
                raise line.error(
                    "must not be empty in a table of one column, where it may be a "
                    'row; one that is quoted, "", is a row'
                )
        elif len(values) == width or (len(values) > width and self._cut):
            yield line, values[:width]
        else:
            raise line.error(
                f"must have {width} values, one for each of {list(self.columns)}"
                f"{self._advice(line.text, values)}. "
                f"Received: {len(values)}, {str(values)[:200]}"
            )

    def _advice(self, text: str, values: list[str]) -> str:
        """Returns the option that a row perhaps needs."""
        if text.startswith("#") and self._comments is None:
            return '; `comments="#"` skips lines that begin with #'
        if self.columns and len(values) > len(self.columns):
            return '; `extra_values="ignore"` leaves out those beyond'
        others = [x for x in OTHERS if x in values[0]]
        if len(values) == 1 and others and self._delimiter is None:
            return f"; `delimiter` tells what is between them, {others[0]!r} perhaps"
        if self.columns and '"' in text:
            return "; `quoting` tells whether quotation marks enclose values"
        return ""


def _converted(record: Record, converters: Mapping, line: Line) -> Record:
    if unknown := set(converters) - set(record):
        raise ValueError(
            f"`converters` must name columns of {line.path}, {list(record)}. "
            f"Received: {sorted(unknown)}"
        )
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
