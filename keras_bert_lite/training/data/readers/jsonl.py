"""Reading JSON Lines: one JSON object per line."""

from collections.abc import Iterator, Sequence

from keras_bert_lite._json import parse_json
from keras_bert_lite.training.data.readers.lines import (
    Line,
    Paths,
    as_paths,
    read_lines,
)
from keras_bert_lite.training.data.records import Record, Records


def read_jsonl(path: Paths, required: Sequence[str] = ()) -> Records:
    """Reads the objects of JSON Lines as records, one at a time.

    Blank lines are skipped.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        required: The columns that every record must have.

    Returns:
        `Records`. Each pass reads the file again.

    Raises:
        TypeError: If `required` is a string.
        ValueError: During a pass, naming file and line: if a line is not a JSON
            object, has a column twice or lacks one, or is not UTF-8.
        FileNotFoundError: If a file does not exist.

    Reference: [jsonlines.org](https://jsonlines.org).
    """
    if isinstance(required, str):
        raise TypeError(f"`required` must be a list of columns. Received: {required!r}")
    paths = as_paths(path)

    def read() -> Iterator[Record]:
        for each in paths:
            for line in read_lines(each):
                if line.text.strip():
                    yield _record(line, required)

    return Records(read)


def _record(line: Line, required: Sequence[str]) -> Record:
    try:
        record = parse_json(line.text)
    except ValueError as error:
        raise line.error(
            f"must be JSON ({error}). Received: {line.text[:200]!r}"
        ) from None
    if not isinstance(record, dict):
        raise line.error(f"must be a JSON object. Received: {line.text[:200]}")
    if missing := [name for name in required if name not in record]:
        raise line.error(f"must have {missing}. Received: {list(record)}")
    return record
