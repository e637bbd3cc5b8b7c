"""Reading treebanks in CoNLL-U format."""

import re
from collections.abc import Iterator

from keras_bert_lite.checks import check_choice
from keras_bert_lite.training.data.readers.lines import Line, Paths, as_paths, read_rows
from keras_bert_lite.training.data.records import Record, Records

COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}
WIDTH = 10  # columns of a line
ID, FORM = 0, 1
_WORD = re.compile(r"[0-9]+")
_NO_WORD = re.compile(r"[0-9]+-[0-9]+|[0-9]+\.[0-9]+")  # 3-4, 5.1


def read_conllu(path: Paths, tags: str = "upos") -> Records:
    """Reads the sentences of files in CoNLL-U format, one at a time.

    Comments (`#`), the ranges of multiword tokens (`3-4`) and empty nodes (`5.1`) are
    skipped: the words are the syntactic ones.

    Args:
        path: A file or several, in UTF-8; `.gz` and `.xz` are decompressed.
        tags: Which column the tags are: `"upos"`, `"xpos"` or `"deprel"`.

    Returns:
        `Records` of `words` and `tags`, lists of the same length. Each pass reads
        the file again.

    Raises:
        ValueError: During a pass, naming file and line: if a line of a word does not
            have ten columns between tabs, a number and a word, or is not UTF-8.
        FileNotFoundError: If a file does not exist.

    Reference: [universaldependencies.org/format.html](
    https://universaldependencies.org/format.html).
    """
    check_choice("tags", tags, tuple(COLUMNS))
    paths = as_paths(path)

    def read() -> Iterator[Record]:
        for each in paths:
            record: Record = {"words": [], "tags": []}
            for line in read_rows(each):
                if not line.text.strip():
                    if record["words"]:
                        yield record
                    record = {"words": [], "tags": []}
                elif values := _word(line):
                    record["words"].append(values[FORM])
                    record["tags"].append(values[COLUMNS[tags]])
            if record["words"]:
                yield record

    return Records(read)


def _word(line: Line) -> list[str] | None:
    """Returns the columns of a word; `None` for a line of another kind."""
    if line.text.startswith("#"):
        return None
    values = line.text.split("\t")
    if len(values) != WIDTH:
        raise line.error(
            f"must have {WIDTH} columns between tabs. "
            f"Received: {len(values)}, {line.text[:200]!r}"
        )
    if _NO_WORD.fullmatch(values[ID]):
        return None
    if not _WORD.fullmatch(values[ID]) or not values[FORM].strip():
        raise line.error(
            "must have a number, and a word. "
            f"Received: {values[ID]!r} and {values[FORM]!r}"
        )
    return values
