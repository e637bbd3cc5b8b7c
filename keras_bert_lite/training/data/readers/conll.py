"""Reading tagged words in CoNLL format."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from keras_bert_lite.checks import check_choice
from keras_bert_lite.tagging import has_scheme, parse_tags, to_bio, to_bioes
from keras_bert_lite.training.data.readers.lines import (
    Line,
    Paths,
    as_paths,
    check_comments,
    read_rows,
    suffix,
)
from keras_bert_lite.training.data.records import Record, Records

DOCUMENT = "-DOCSTART-"
LAST = -1
SCHEMES = {"bio": to_bio, "bioes": to_bioes}
LOOKED_AT = 1000  # lines, to recognize the format
Sentence = list[tuple[Line, list[str]]]


def read_conll(
    path: Paths,
    word_column: int = 0,
    tag_column: int | None = LAST,
    scheme: str | None = None,
    delimiter: str | None = None,
    comments: str | None = None,
) -> Records:
    """Reads the sentences of files in CoNLL format, one at a time.

    A line has a word and its annotations in columns. A sentence ends at an empty
    line, at a `-DOCSTART-` line, which is skipped, or at the end of the file.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        word_column: The column of the words, from 0; from the end if negative.
        tag_column: The column of the tags; `None`: there are none. The last one of a
            single column, which has the words, is none either.
        scheme: `"bio"` or `"bioes"` converts the tags to this scheme, whichever
            they are in; see `tagging`. CoNLL-2003 uses IOB1, with `B-` only to
            separate adjacent entities. `None` keeps the tags.
        delimiter: The delimiter of columns; `None`: spaces and tabs.
        comments: What the lines begin with that are skipped before the first word of
            a sentence, such as `"#"`, or `"# "` where words such as `#this` begin
            sentences. `None`: there are none, and a line that begins with `#` has a
            word too, as in CoNLL-2003.

    Returns:
        `Records` of `words` and, if there are any, `tags`, lists of the same length.
        Each pass reads the file again.

    Raises:
        ValueError: At once, if a file's name ends in `.conllu`. During a pass,
            naming file and line: if a line does not have as
            many columns as the first one, has an empty word or tag, lacks a column,
            has a tag in no scheme, or is not UTF-8.
        FileNotFoundError: If a file does not exist.

    Reference: [Tjong Kim Sang and De Meulder,
    2003](https://aclanthology.org/W03-0419/).
    """
    check_choice("scheme", scheme, (*SCHEMES, None))
    check_comments(comments)
    paths = as_paths(path)
    if conllu := [str(x) for x in paths if suffix(x) == ".conllu"]:
        raise ValueError(
            f"`path` must be in CoNLL format; `read_conllu` reads CoNLL-U. "
            f"Received: {conllu}"
        )

    def read() -> Iterator[Record]:
        seen: set[str] = set()
        for each in paths:
            for rows in _sentences(read_rows(each), delimiter, comments):
                record = {"words": _column(rows, word_column, "word_column")}
                alone = len(rows[0][1]) == 1 and tag_column == LAST
                if tag_column is not None and not alone:
                    tags = _column(rows, tag_column, "tag_column")
                    record["tags"] = _rewritten(tags, scheme, rows[0][0], seen)
                yield record

    return Records(read)


def is_conll(
    path: Path, delimiter: str | None = None, comments: str | None = None
) -> bool:
    """Returns whether the last words of lines are tags of entities, from the first on.

    Such a file is in CoNLL format, whatever its name.
    """
    lines = itertools.islice(read_rows(path), LOOKED_AT)
    try:
        rows = [row for x in _sentences(lines, delimiter, comments) for _, row in x]
        tags = sorted({row[LAST] for row in rows})
        return (
            all(len(row) > 1 for row in rows)
            and any("-" in tag for tag in tags)
            and has_scheme(tags)
        )
    except ValueError:
        return False


def lone_comments(
    path: Path, delimiter: str | None = None, tag_column: int | None = LAST
) -> list[str]:
    """Returns lines that begin with `#` before a sentence, and whose tag is their own.

    A word `#` has a tag that others have too.
    """
    lines: list[str] = []
    tags: set[str] = set()
    first = True
    for line in read_rows(path):
        values = _values(line, delimiter)
        if first and line.text.startswith("#"):
            lines.append(line.text)
            continue
        first = not values or values[0] == DOCUMENT
        if values and tag_column is not None:
            tags.add(values[min(tag_column, len(values) - 1)])
    last = [_values(Line(path, 0, x), delimiter)[LAST] for x in lines]
    return [x for x, tag in zip(lines, last, strict=True) if tag not in tags]


def _sentences(
    lines: Iterable[Line], delimiter: str | None, comments: str | None
) -> Iterator[Sentence]:
    sentence: Sentence = []
    first: tuple[Line, int] | None = None  # with the number of its columns
    for line in lines:
        if not sentence and comments is not None and line.text.startswith(comments):
            continue
        values = _values(line, delimiter)
        if values and values[0] != DOCUMENT:
            first = first or (line, len(values))
            if len(values) != first[1]:
                both = first[0].text, line.text
                skip = comments is None and any(x.startswith("#") for x in both)
                advice = '; `comments="#"` skips lines that begin with #' * skip
                raise line.error(
                    f"must have {first[1]} columns, as line {first[0].number} has, "
                    f"{first[0].text[:80]!r}{advice}. "
                    f"Received: {len(values)}, {line.text[:200]!r}"
                )
            sentence.append((line, values))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _values(line: Line, delimiter: str | None) -> list[str]:
    # Not `split()`, as a word may be a no-break space.
    text = line.text.strip(" \t")
    if not text:
        return []
    return line.text.split(delimiter) if delimiter else re.split("[ \t]+", text)


def _column(rows: Sentence, column: int, argument: str) -> list[str]:
    line, first = rows[0]
    if not -len(first) <= column < len(first):
        raise line.error(
            f"`{argument}` must be one of {len(first)} columns. Received: {column}"
        )
    for line, values in rows:
        if not values[column]:
            raise line.error(
                f"column {column} must not be empty. Received: {line.text!r}"
            )
    return [values[column] for _, values in rows]


def _rewritten(
    tags: list[str], scheme: str | None, line: Line, seen: set[str]
) -> list[str]:
    if not scheme:
        return tags
    try:
        if not seen.issuperset(tags):
            seen.update(tags)
            parse_tags(sorted(seen))  # which must all be written alike
        return SCHEMES[scheme](tags)
    except ValueError as error:
        raise line.error(f"in the sentence that begins here, {error}") from error
