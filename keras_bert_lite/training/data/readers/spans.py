"""Texts with spans of characters, as annotation tools write them.

| tool | a record |
|---|---|
| doccano | `{"text": ..., "label": [[0, 4, "PER"]]}` |
| spaCy | `{"text": ..., "entities": [[0, 4, "PER"]]}`, or `ents` of dictionaries |
| Prodigy | `{"text": ..., "spans": [{"start": 0, "end": 4, "label": "PER"}]}` |
| Label Studio | `{"data": {"text": ...}, "annotations": [{"result": [...]}]}`, or in
  JSON-MIN `{"text": ..., "label": [{"start": 0, "end": 4, "labels": ["PER"]}]}` |
"""

import itertools
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keras_bert_lite._json import parse_json
from keras_bert_lite.checks import check_choice
from keras_bert_lite.tagging import OUTSIDE
from keras_bert_lite.training.data.readers.jsonl import read_jsonl
from keras_bert_lite.training.data.readers.lines import (
    Paths,
    as_paths,
    read_lines,
    read_text,
)
from keras_bert_lite.training.data.records import Record, Records

WORD = re.compile(r"\w+|[^\w\s]")
REJECTED = ("reject", "ignore")  # Prodigy's `answer`
PEEKED = 100  # records that tell whether a file has spans
OUTCOMES = {
    "find": "widened to whole words",
    "skip": "left out",
}


class Span(NamedTuple):
    """Characters `start` to `end`, exclusive, of a text, and their label."""

    start: int
    end: int
    label: str


def read_spans(path: Paths, misplaced: str = "error") -> Records:
    """Reads texts with spans of characters as words with tags.

    A text is split into words, which are runs of letters, digits and underscores, and
    single punctuation marks; the tags are BIO.

    Args:
        path: A file or several, in UTF-8: JSON Lines, or one JSON array, which is held
            in memory during a pass; `.gz` and `.xz` are decompressed.
        misplaced: How to handle a span that begins or ends inside a word or is empty.
            `"error"` refuses it. `"find"` widens it to whole words. `"skip"` leaves it
            out. The last two warn with the number of such spans.

    Returns:
        `Records` of the columns of the file and of `text`, `words` and `tags`. Each
        pass reads the file again.

    Raises:
        ValueError: During a pass, naming the file and the record: if it is not JSON,
            has no text or spans, was rejected in Prodigy, or a span is misplaced, not
            in the text, or overlaps another one.
        FileNotFoundError: If a file does not exist.
    """
    check_choice("misplaced", misplaced, ("error", "find", "skip"))
    paths = as_paths(path)

    def read() -> Iterator[Record]:
        for each in paths:
            count: Counter[str] = Counter()
            for number, record in enumerate(_objects(each)):
                try:
                    yield _tagged(record, misplaced, count)
                except ValueError as error:
                    raise ValueError(f"{each}, record {number}: {error}") from None
            if total := count.total():
                warnings.warn(
                    f"{each}: {total} spans that do not begin and end with a word were "
                    f"{OUTCOMES[misplaced]}.",
                    stacklevel=2,
                )

    return Records(read)


def has_spans(path: Path) -> bool:
    """Whether a file of JSON holds texts with spans."""
    try:
        records = list(itertools.islice(_objects(path), PEEKED))
    except ValueError:  # it is read as something else, and says what is wrong
        return False
    return any(spans_of(record) for record in records if "words" not in record)


def misplaced_spans(path: Path) -> list[str]:
    """Returns the texts of the spans that do not begin and end with a word."""
    found = []
    for record in _objects(path):
        text = text_of(record)
        if isinstance(text, str):
            words = _words(text)
            misplaced = (x for x in spans_of(record) or () if not _fits(x, words))
            found += [text[span.start : span.end] for span in misplaced]
    return found


def text_of(record: Record) -> Any:
    """Returns the text of a record of any tool."""
    data = record.get("data")
    return record.get("text", data.get("text") if isinstance(data, dict) else None)


def spans_of(record: Record) -> list[Span] | None:
    """Returns the spans of a record of any tool; `None` if there are none to find."""
    for tool in TOOLS.values():
        found = tool.read(record)
        if found is not None:
            return found
    return None


def read_texts(path: Path) -> Iterator[Record]:
    """Yields the records of a file of a tool, with the `text` as a column."""
    for record in _objects(path):
        yield {**record, "text": text_of(record)}


def as_spans(tool: str, text: str, spans: Sequence[Span]) -> Record:
    """Returns the columns in which a tool holds spans of a text."""
    return TOOLS[tool].write(text, spans)


class _Tool(NamedTuple):
    read: Callable[[Record], list[Span] | None]
    write: Callable[[str, Sequence[Span]], Record]


def _lists(*names: str) -> Callable[[Record], list[Span] | None]:
    """Reads columns of `[start, end, label]`."""

    def read(record: Record) -> list[Span] | None:
        for name in names:
            values = record.get(name)
            if _all(values, lambda x: isinstance(x, list) and _are_places(x[:-1])):
                return [Span(*x) for x in values or ()]
        return None

    return read


def _dictionaries(
    column: str, start: str = "start", end: str = "end"
) -> Callable[[Record], list[Span] | None]:
    """Reads a column of dictionaries."""

    def read(record: Record) -> list[Span] | None:
        values = record.get(column)
        places = (start, end)
        if not _all(
            values,
            lambda x: isinstance(x, dict) and _are_places([x.get(p) for p in places]),
        ):
            return None
        return [Span(x[start], x[end], _label(x)) for x in values or ()]

    return read


def _results(record: Record) -> list[Span] | None:
    """Reads the annotations of Label Studio, the first of several."""
    annotations = record.get("annotations")
    if not _all(annotations, lambda x: isinstance(x, dict) and "result" in x):
        return None
    results = annotations[0]["result"] if annotations else []
    values = [x["value"] for x in results if "value" in x]
    return _dictionaries("spans")({"spans": values})


def _first(*readers: Callable[[Record], list[Span] | None]) -> Callable:
    def read(record: Record) -> list[Span] | None:
        return next((x for f in readers if (x := f(record)) is not None), None)

    return read


def _all(values: Any, test: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(map(test, values))


def _are_places(values: list[Any]) -> bool:
    return len(values) == 2 and all(isinstance(x, int) for x in values)


def _label(span: Record) -> Any:
    labels = span.get("labels", [None])
    return span.get("label", labels[0] if len(labels) == 1 else labels)


def _studio(text: str, spans: Sequence[Span]) -> Record:
    result = [
        {
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {
                "start": span.start,
                "end": span.end,
                "text": text[span.start : span.end],
                "labels": [span.label],
            },
        }
        for span in spans
    ]
    return {"data": {"text": text}, "predictions": [{"result": result}]}


TOOLS = {
    "prodigy": _Tool(
        _dictionaries("spans"),
        lambda text, spans: {"spans": [span._asdict() for span in spans]},
    ),
    "spacy": _Tool(
        _first(_lists("entities"), _dictionaries("ents")),
        lambda text, spans: {"entities": [*map(list, spans)]},
    ),
    "label_studio": _Tool(_first(_results, _dictionaries("label")), _studio),
    "doccano": _Tool(
        _first(
            _lists("label", "labels"),
            _dictionaries("entities", "start_offset", "end_offset"),
        ),
        lambda text, spans: {"label": [*map(list, spans)]},
    ),
}


def is_array(path: Path) -> bool:
    """Whether a file of JSON is one array."""
    texts = (line.text.strip() for line in read_lines(path))
    return next(filter(None, texts), "").startswith("[")


def _objects(path: Path) -> Iterator[Record]:
    """Yields the objects of JSON Lines, or of a file that is one array."""
    if not is_array(path):
        yield from read_jsonl(path)
        return
    values = parse_json(read_text(path))
    if not _all(values, lambda x: isinstance(x, dict)):
        raise ValueError(f"{path}: must be an array of objects")
    yield from values


def _tagged(record: Record, misplaced: str, count: Counter[str]) -> Record:
    """Adds the words of a record and their tags."""
    text, spans = text_of(record), spans_of(record)
    if not isinstance(text, str) or spans is None:
        raise ValueError(
            f"must have a `text` and spans of one of {[*TOOLS]}. "
            f"Received: {list(record)}"
        )
    if record.get("answer") in REJECTED:
        raise ValueError(
            "must have been accepted in Prodigy; export the accepted ones. "
            f"Received: answer={record['answer']!r}"
        )
    words = _words(text)
    tags = [OUTSIDE] * len(words)
    for span in sorted(spans, key=lambda x: x[:2]):
        _check(span, text)
        inside: Iterable[int] = _touched(words, span)
        if not _fits(span, words):
            count[misplaced] += 1
            if misplaced == "error":
                raise ValueError(
                    f"{text[span.start : span.end]!r} ({span.label}), characters "
                    f"{span.start} to {span.end}, must begin and end with a word; "
                    '`misplaced="find"` widens such spans, `"skip"` leaves them out'
                )
            inside = inside if misplaced == "find" else ()
        for i, number in enumerate(inside):
            if tags[number] != OUTSIDE:
                raise ValueError(
                    "must have spans that do not overlap, as each word has one tag. "
                    f"Received: {text[span.start : span.end]!r} ({span.label}) and a "
                    f"span of {tags[number][2:]!r}"
                )
            tags[number] = f"{'I' if i else 'B'}-{span.label}"
    return {
        **record,
        "text": text,
        "words": [text[a:b] for a, b in words],
        "tags": tags,
    }


def _check(span: Span, text: str) -> None:
    if not 0 <= span.start <= span.end <= len(text):
        raise ValueError(
            f"must have spans within its {len(text)} characters. Received: {[*span]}"
        )
    if not isinstance(span.label, str) or not span.label.strip():
        raise ValueError(f"must have one label for each span. Received: {[*span]}")


def _words(text: str) -> list[tuple[int, int]]:
    """Returns where the words of a text begin and end."""
    return [match.span() for match in WORD.finditer(text)]


def _fits(span: Span, words: Sequence[tuple[int, int]]) -> bool:
    """Whether a span begins and ends with a word, but for blanks around them."""
    inside = _touched(words, span)
    if not inside:
        return False
    first, last = words[inside[0]][0], words[inside[-1]][1]
    return span.start <= first and last <= span.end


def _touched(words: Sequence[tuple[int, int]], span: Span) -> range:
    """Returns the numbers of the words that a span has characters of."""
    numbers = [i for i, (a, b) in enumerate(words) if a < span.end and span.start < b]
    return range(numbers[0], numbers[-1] + 1) if numbers else range(0)
