"""Texts, targets and weights of records, checked and converted to arrays."""

import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_bert_lite.training.data.records import Record

Columns = str | Sequence[str]  # a column, or several that are stacked
LARGEST = float(np.finfo(np.float32).max)
MAX_GRADE = 100  # of a candidate: 2 to its power is a float32
SEPARATOR = "\x1f"  # lists are joined to one string, so that all rows have one shape
Converter = Callable[[Any], np.ndarray]


def value_of(record: Record, columns: Columns, argument: str) -> Any:
    """Returns the value of a column, or a list of the values of several columns.

    Raises:
        ValueError: If the record lacks a column.
    """
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name not in record:
            raise ValueError(
                f"`{argument}` must be one of the columns {list(record)} (of a table, "
                f"its first line, or `read_csv(columns=...)`). Received: {name!r}"
            )
    values = [record[name] for name in names]
    return values[0] if isinstance(columns, str) else values


def text_of(record: Record, columns: Columns, argument: str) -> np.ndarray:
    """Returns a text `()`, or the texts of several columns `(number of columns,)`."""
    value = value_of(record, columns, argument)
    if isinstance(columns, str):
        return np.array(_utf8(value, argument), object)
    return np.array([_utf8(each, argument) for each in value], object)


def choices_of(record: Record, columns: Columns, argument: str) -> np.ndarray:
    """Returns C texts `(C,)`, from a column of lists or from C columns."""
    value = value_of(record, columns, argument)
    if not isinstance(value, list) or len(value) < 2:
        raise ValueError(
            f"`{argument}` must be a list of two texts or more. Received: {value!r}"
        )
    return np.array([_utf8(each, argument) for each in value], object)


def weight_of(record: Record, column: str) -> np.ndarray:
    """Returns a weight `()`, a number of at least 0."""
    weight = target_of(record, column, numbers, "weight")
    if weight.shape != (1,) or weight[0] < 0:
        raise ValueError(f"`weight` must be one number >= 0. Received: {weight}")
    return weight.reshape([])


def name_of(value: Any) -> str | None:
    """Returns a label's name: of a string itself, of a number its digits.

    This is the rule wherever a value may be a label: what equals a name is that label.
    `None`: the value is no name.
    """
    named = isinstance(value, (str, int, float)) and value == value  # no NaN
    return str(value) if named else None


def index_in(labels: Sequence[str]) -> Converter:
    """Makes a converter from a label (name or index) to its index `()`.

    A string is a name. An integer is a name (see `name_of`) or an index; where it may
    be both, they must be of one label.
    """
    numbers: dict[str | None, int] = {name: i for i, name in enumerate(labels)}

    def convert(value: Any) -> np.ndarray:
        named = numbers.get(name_of(value))
        number = isinstance(value, int) and 0 <= value < len(labels)
        index = int(value) if number else None
        if named is None and index is None:
            raise ValueError(
                f"must be one of {reprlib.repr(list(labels))} or an index into them, "
                f"an integer. Received: {value!r}"
            )
        if named is not None and index is not None and named != index:
            raise ValueError(
                "must tell a name from an index: as a string it is a name, and no "
                "index is mistaken where the names are no numbers. "
                f"Received: {value!r}, the name of label {named} and the index of "
                f"{labels[index]!r}"
            )
        return np.array(index if named is None else named, np.int32)

    return convert


def indicators(labels: Sequence[str]) -> Converter:
    """Makes a converter from labels to 0 and 1 for each label, `(len(labels),)`.

    It takes a list of names (see `name_of`), or a list of 0 and 1; where it may be
    both, they must be of the same labels. A list of indices would be ambiguous.
    """
    numbers: dict[str | None, int] = {name: i for i, name in enumerate(labels)}

    def convert(value: Any) -> np.ndarray:
        if not isinstance(value, list):
            raise ValueError(f"must be a list. Received: {value!r}")
        unknown = [x for x in value if name_of(x) not in numbers]
        row = np.zeros(len(labels), np.float32)
        row[[i for x in value if (i := numbers.get(name_of(x))) is not None]] = 1
        if len(value) == len(labels) and all(x in (0, 1) for x in value):
            flags = np.array(value, np.float32)
            if not unknown and not np.array_equal(row, flags):
                raise ValueError(
                    "must tell names from 0 and 1 for each label: as strings they are "
                    f"names. Received: {value!r} for {list(labels)}"
                )
            return flags
        if unknown:
            raise ValueError(
                f"must be names from {reprlib.repr(list(labels))}, or {len(labels)} "
                f"numbers 0 or 1. Received: {value!r}, of which {unknown} are not"
            )
        return row

    return convert


def numbers(value: Any) -> np.ndarray:
    """Converts a number or a list of numbers to an array with one axis."""
    row = value if isinstance(value, list) else [value]
    if not row or not all(
        isinstance(x, (int, float)) and abs(x) <= LARGEST for x in row
    ):
        raise ValueError(
            "must be a number in float32's range, or a list of them. For a classifier "
            "give `labels=[...]`; to convert strings, use `read_csv(..., "
            f"converters=...)`. Received: {value!r}"
        )
    return np.array(row, np.float32)


def check_candidates(candidates: Any, argument: str = "candidates") -> None:
    """Refuses what is no list of texts: of one or more, none of them empty."""
    texts = isinstance(candidates, list) and all(
        isinstance(x, str) and x and SEPARATOR not in x for x in candidates
    )
    if not texts or not candidates:
        raise ValueError(
            f"`{argument}` must be a list of one string or more, none of them empty or "
            f"with U+001F. Received: {candidates!r:.200}"
        )
    for text in candidates:
        _utf8(text, argument)


def check_grades(grades: Any, candidates: Sequence[str]) -> None:
    """Refuses what are no grades of candidates: numbers from 0 to 100."""
    check_scores("grades", grades, candidates)
    if not all(0 <= x <= MAX_GRADE for x in grades):
        raise ValueError(
            f"`grades` must be from 0 to {MAX_GRADE}. Received: {grades!r:.200}"
        )


def check_scores(argument: str, scores: Any, candidates: Sequence[str]) -> None:
    """Refuses what is not a list of finite numbers, one for each candidate."""
    numbers = isinstance(scores, list) and all(
        isinstance(x, (int, float)) and abs(x) <= LARGEST for x in scores
    )
    if not numbers or len(scores) != len(candidates):
        raise ValueError(
            f"`{argument}` must be a list of {len(candidates)} numbers, one for each "
            f"candidate. Received: {scores!r:.200}"
        )


def choice_among(number: int) -> Converter:
    """Makes a converter for the index of a choice."""

    def convert(value: Any) -> np.ndarray:
        if isinstance(value, int) and 0 <= value < number:
            return np.array(value, np.int32)
        raise ValueError(
            f"must be the index of one of {number} choices. Received: {value!r}"
        )

    return convert


def target_of(
    record: Record, columns: Columns, convert: Converter, argument: str = "label"
) -> np.ndarray:
    """Converts the value of one column or several to a target."""
    value = value_of(record, columns, argument)
    try:
        return convert(value)
    except ValueError as error:
        raise ValueError(f"`{argument}` {error}") from None


def _utf8(value: Any, argument: str) -> bytes:
    if not isinstance(value, str):
        raise ValueError(
            f"`{argument}` must be a string. Received: {value!r:.200} "
            f"(of type {type(value).__name__})"
        )
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"`{argument}` must be Unicode. Received: {error}") from None
