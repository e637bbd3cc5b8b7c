"""Reading tagged words in CoNLL format."""

import re
from collections.abc import Iterator
from pathlib import Path

from keras_bert_lite.checks import check_choice
from keras_bert_lite.tagging import to_bio, to_bioes
from keras_bert_lite.training.data.readers.lines import (
    Line,
    Paths,
    as_paths,
    read_rows,
    suffix,
)
from keras_bert_lite.training.data.records import Record, Records

DOCUMENT = "-DOCSTART-"
LAST = -1
SCHEMES = {"bio": to_bio, "bioes": to_bioes}
Sentence = list[tuple[Line, list[str]]]


def read_conll(
    path: Paths,
    word_column: int = 0,
    tag_column: int | None = LAST,
    scheme: str | None = None,
    delimiter: str | None = None,
) -> Records:
    """Reads the sentences of files in CoNLL format, one at a time.

    A line has a word and its annotations in columns. A sentence ends at an empty
    line, at a `-DOCSTART-` line, which is skipped, or at the end of the file. There
    are no comments: a line that begins with `#` has a word too.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        word_column: The column of the words, from 0; from the end if negative.
        tag_column: The column of the tags; `None`: there are none. The last one of a
            single column, which has the words, is none either.
        scheme: `"bio"` or `"bioes"` converts the tags to this scheme, whichever
            they are in. CoNLL-2003 uses IOB1, with `B-` only to separate adjacent
            entities. `None` keeps the tags.
        delimiter: The delimiter of columns; `None`: spaces and tabs.

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
    paths = as_paths(path)
    if conllu := [str(x) for x in paths if suffix(x) == ".conllu"]:
        raise ValueError(
            f"`path` must be in CoNLL format; `read_conllu` reads CoNLL-U. "
            f"Received: {conllu}"
        )

    def read() -> Iterator[Record]:
        for each in paths:
            for rows in _sentences(each, delimiter):
                record = {"words": _column(rows, word_column, "word_column")}
                alone = len(rows[0][1]) == 1 and tag_column == LAST
                if tag_column is not None and not alone:
                    tags = _column(rows, tag_column, "tag_column")
                    record["tags"] = _rewritten(tags, scheme, rows[0][0])
                yield record

    return Records(read)


def _sentences(path: Path, delimiter: str | None) -> Iterator[Sentence]:
    sentence: Sentence = []
    width = None
    for line in read_rows(path):
        values = _values(line, delimiter)
        if values and values[0] != DOCUMENT:
            width = width or len(values)
            if len(values) != width:
                raise line.error(
                    f"must have {width} columns, as the first line of words has. "
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


def _rewritten(tags: list[str], scheme: str | None, line: Line) -> list[str]:
    try:
        return SCHEMES[scheme](tags) if scheme else tags
    except ValueError as error:
        raise line.error(f"in the sentence that begins here, {error}") from error
