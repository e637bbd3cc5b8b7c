r"""Small tables at random, written in many ways: is what is read what was written?

`python -m tests.training.data.readers.random_tables 10000` writes as many and counts by
writer those that are read equal, those that are refused with a line, and those that are
read in another way, of which there must be none. Where pandas is installed it is one of
the writers.

The same bytes may be two tables. So these are not drawn, or their options are said:

- lines that end in CR LF, and lines that end in LF after unquoted values that end in
  CR; a first row that ends in LF tells which;
- values between tabs that are enclosed in quotation marks, with the marks inside
  doubled, and such values as they stand (`quoting=False`);
- a table between semicolons whose names hold commas (`delimiter=";"`);
- the escape character of some programs, which RFC 4180 has not.
"""

import collections
import csv
import importlib.util
import io
import json
import random
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert_lite.training.data import read, read_csv

HAS_PANDAS = importlib.util.find_spec("pandas") is not None
EQUAL, REFUSED, DIFFERENT = "equal", "refused", "different"
PIECES = (
    *("a", "b", "word", "1", "-2.5", "é", "漢字", "🙂", "=1+1", "#x", "# y", "'", "\\"),
    *('"', '""', '"Yes"', '"a ""b"" c"', ",", ";", "\t", "|", " ", "  ", ""),
    *("\n", "\r\n", "\r", "\n\n", "\x00", "\x0b", "\x85", "\u2028", "\ufeff"),
)
LINE = re.compile(r":[1-9][0-9]*: ")
ENCLOSED = re.compile(r'"([^"]|"")*"')
STYLES = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)


class Table(NamedTuple):
    """A table: names, rows, and the converters of columns that are not strings."""

    names: list[str]
    rows: list[list[Any]]
    converters: dict[str, Callable[[str], Any]]

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows as they should be read."""
        return [
            {
                name: value if name in self.converters else _string(value)
                for name, value in zip(self.names, row, strict=True)
            }
            for row in self.rows
        ]


class Case(NamedTuple):
    """A file, how it is read and what it holds; `None`: it must be refused.

    `line` is where, if it is known.
    """

    content: bytes
    name: str
    options: dict[str, Any]
    records: list[dict[str, Any]] | None
    line: int | None = None


def _string(value: Any) -> str:
    return "" if value is None else str(value)


def _text(rng: random.Random, pieces: tuple[str, ...] = PIECES) -> str:
    return "".join(rng.choices(pieces, k=rng.choice((0, 1, 1, 2, 3))))


def table(rng: random.Random) -> Table:
    """Returns a table of one to four columns and up to six rows."""
    names: dict[str, None] = {}
    for number in range(rng.randint(1, 4)):
        plain = f"{rng.choice(('text', 'label', 'a b'))}{number}"
        name = plain if rng.random() < 0.8 else _text(rng)
        names[name.lstrip("\ufeff").rstrip("\r") or plain] = None
    kinds = [rng.choice((str, str, str, int, float, bool)) for _ in names]
    rows = [[_value(rng, kind) for kind in kinds] for _ in range(rng.randint(0, 6))]
    converters = {
        name: kind
        for name, kind in zip(names, kinds, strict=True)
        if kind in (int, float) and rng.random() < 0.5
    }
    return Table(list(names), rows, converters)


def _value(rng: random.Random, kind: type) -> Any:
    if kind is str:
        return None if rng.random() < 0.05 else _text(rng)
    if kind is float:
        return rng.choice((0.1, -2.5e-300, 1e16, rng.random()))
    return rng.choice((True, False)) if kind is bool else rng.randint(-3, 10**12)


def _named(rng: random.Random, drawn: Table, quoted: bool) -> tuple[str, str, dict]:
    """Draws a file's ending, the delimiter and options that tell it, if they must."""
    name, delimiter = rng.choice((("a.tsv", "\t"), ("a.csv", ","), ("a.csv", ";")))
    options: dict[str, Any] = {}
    silent = delimiter == ";" and not any("," in x for x in drawn.names)
    if delimiter == ";" and not (silent and quoted and rng.random() < 0.5):
        options["delimiter"] = delimiter
    return name, delimiter, options


def _headed(
    rng: random.Random, drawn: Table, options: dict, crs: bool
) -> tuple[bool, dict]:
    """Draws whether there is a header; without one the names are an option."""
    ends = any(_string(row[-1]).endswith("\r") for row in drawn.rows)
    without = "delimiter" in options or (crs and ends)
    if without or rng.random() < 0.8:
        return True, options
    return False, {**options, "columns": drawn.names}


def by_csv(rng: random.Random, drawn: Table) -> Case:
    """Writes by Python's csv."""
    name, delimiter, options = _named(rng, drawn, quoted=True)
    end = rng.choice(("\n", "\r\n"))
    style = rng.choice(STYLES)
    header, options = _headed(rng, drawn, options, crs=True)
    if not header and name == "a.csv" and delimiter == ";":
        options["delimiter"] = delimiter
    if rng.random() < 0.3:
        options["quoting"] = True
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=style, lineterminator=end)
    writer.writerows([drawn.names] * header + drawn.rows)
    return _case(rng, file.getvalue(), name, options, drawn, end)


def by_pandas(rng: random.Random, drawn: Table) -> Case:
    """Writes by pandas; the index is a column without a name, if it is written."""
    import pandas as pd

    name, delimiter, options = _named(rng, drawn, quoted=True)
    frame = pd.DataFrame(drawn.rows, columns=drawn.names, dtype=object)
    end = rng.choice(("\n", "\r\n"))
    index = rng.random() < 0.2 and "" not in drawn.names
    content = frame.to_csv(
        sep=delimiter,
        index=index,
        quoting=rng.choice(STYLES),
        lineterminator=end,
    )
    if index:
        rows = [[str(i), *row] for i, row in enumerate(drawn.rows)]
        drawn = Table(["", *drawn.names], rows, drawn.converters)
    return _case(rng, content, name, options, drawn, end)


def by_hand(rng: random.Random, drawn: Table) -> Case:
    """Writes lines: unquoted, or quoted more often than need be; with odd lines."""
    quoted = rng.random() < 0.5
    name, delimiter, options = _named(rng, drawn, quoted)
    comments = rng.random() < 0.3
    if not quoted:
        drawn = _plain(drawn, delimiter)
        enclosed = _looks_quoted([drawn.names, *drawn.rows])
        if name == "a.csv" or enclosed or rng.random() < 0.2:
            options["quoting"] = False
    elif name == "a.tsv":
        options["quoting"] = True
    header, options = _headed(rng, drawn, options, crs=True)
    rows = [drawn.names] * header + drawn.rows
    lines = [
        delimiter.join(
            _quoted(rng, x, delimiter) if quoted else _string(x) for x in row
        )
        for row in rows
    ]
    many = len(drawn.names) > 1
    said = rng.random() < 0.8 or not many or bool(drawn.converters)
    if comments and said:
        options["comments"] = "#"
    line = None
    if rng.random() < 0.2 and len(lines) > header and many:
        if delimiter == ";":
            options["delimiter"] = delimiter
        chosen = rng.randrange(header, len(lines))
        ragged = f"{lines[chosen]}{delimiter}more"
        lines[chosen] = ragged if rng.random() < 0.5 else "less"
        if lines[chosen] == ragged and said and rng.random() < 0.5:
            options["extra_values"] = "ignore"
        else:
            line = chosen
    end = rng.choice(("\n", "\r\n"))
    content, number, refused = "", 0, line is not None
    for place, written in enumerate(lines):
        odd = []
        if comments and rng.random() < 0.4:
            odd.append(
                rng.choice(("#", "# a note", f"# \"{delimiter} it's")[: 2 + said])
            )
            refused = refused or not said
        if many and rng.random() < 0.1:
            odd.append("")
        for text in [*odd, written]:
            if place == line and text is written:
                number = content.count("\n") + 1
            content += text + end
    case = _case(rng, content, name, options, drawn, end)
    if not refused:
        return case
    return case._replace(records=None, line=number if said else None)


def _plain(drawn: Table, delimiter: str) -> Table:
    """Returns a table whose strings have no delimiter, line end or comment."""

    def cleaned(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return re.sub(f"^#|[{re.escape(delimiter)}\r\n]", "_", value)

    names = [f"{cleaned(x)}{i}" for i, x in enumerate(drawn.names)]
    converters = dict(zip(drawn.names, names, strict=True))
    return Table(
        names,
        [[cleaned(x) for x in row] for row in drawn.rows],
        {converters[x]: y for x, y in drawn.converters.items()},
    )


def _looks_quoted(rows: list[list[Any]]) -> bool:
    marked = [x for row in rows for x in row if isinstance(x, str) and '"' in x]
    return bool(marked) and all(map(ENCLOSED.fullmatch, marked))


def _quoted(rng: random.Random, value: Any, delimiter: str) -> str:
    text = _string(value)
    needs = any(x in text for x in f'{delimiter}"\r\n') or text.startswith("#")
    if not needs and text and rng.random() < 0.7:
        return text
    return '"' + text.replace('"', '""') + '"'


def _case(
    rng: random.Random,
    content: str,
    name: str,
    options: dict[str, Any],
    drawn: Table,
    end: str,
) -> Case:
    last = content.removesuffix(end)
    if rng.random() < 0.3 and not last.endswith("\n"):  # no end of the last line
        content = last
    marked = rng.random() < 0.3 or content.startswith("\ufeff")
    mark = b"\xef\xbb\xbf" if marked else b""
    if drawn.converters:
        options = {**options, "converters": drawn.converters}
    return Case(mark + content.encode(), name, options, drawn.records)


def by_json(rng: random.Random, drawn: Table) -> Case:
    """Writes JSON Lines, which keep types."""
    records = [dict(zip(drawn.names, row, strict=True)) for row in drawn.rows]
    ascii_only = rng.random() < 0.5
    lines = [json.dumps(x, ensure_ascii=ascii_only) for x in records]
    end = rng.choice(("\n", "\r\n"))
    content = "".join(f"{x}{end}" for x in lines)
    mark = b"\xef\xbb\xbf" if rng.random() < 0.3 else b""
    return Case(mark + content.encode(), "a.jsonl", {}, records)


WRITERS = {"csv": by_csv, "hand": by_hand, "json": by_json}
if HAS_PANDAS:
    WRITERS["pandas"] = by_pandas


def outcome(case: Case, folder: Path) -> str:
    """Reads a case: is it equal to what was written, or refused with a line?"""
    path = folder / case.name
    path.write_bytes(case.content)
    reader = read if case.name == "a.jsonl" else read_csv
    try:
        records = list(reader(path, **case.options))
    except ValueError as error:
        refusal = str(error)
        place = f"{path}:{case.line}: " if case.line else LINE
        return REFUSED if re.search(place, refusal) else f"{DIFFERENT}: {refusal}"
    return EQUAL if records == case.records else f"{DIFFERENT}: {records}"


def draw(seed: int, writer: str) -> Case:
    """Returns the case of a number."""
    rng = random.Random(f"{seed} {writer}")
    return WRITERS[writer](rng, table(rng))


def main(count: int) -> None:
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            writer = [*WRITERS][number % len(WRITERS)]
            case = draw(number, writer)
            result = outcome(case, Path(folder))
            kind = result.split(":")[0]
            counts[writer, kind] += 1
            if kind == DIFFERENT:
                print(number, writer, case, result, sep="\n  ")
    for writer in WRITERS:
        print(writer, {x: counts[writer, x] for x in (EQUAL, REFUSED, DIFFERENT)})
    sys.exit(any(kind == DIFFERENT for _, kind in counts))


if __name__ == "__main__":
    main(int(sys.argv[1]))
