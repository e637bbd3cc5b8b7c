"""What is wrong, or odd, in the data of a task."""

import dataclasses
import itertools
import os
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any, Unpack

from keras_bert_lite.checkpoints.load import load_preprocessor
from keras_bert_lite.checkpoints.sources import resolve
from keras_bert_lite.finetuning.finetune import ENCODER
from keras_bert_lite.finetuning.lengths import count_tokens, lengths_of
from keras_bert_lite.finetuning.spec import Spec, named_columns, tunable_task
from keras_bert_lite.training.data.readers.read import (
    Reading,
    check_reading,
    findings,
    read,
)
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_formats import Columns, RowFormat, Rows

SHOWN = 5  # examples of each finding
PIECES = 50  # shown of a text
FEW = 10  # rows of a label that are few


def debug(
    task: str,
    train: Any,
    validation: Any = None,
    encoder: str | os.PathLike = ENCODER,
    columns: Mapping[str, str | None] | None = None,
    **reading: Unpack[Reading],
) -> dict[str, Any]:
    """Looks for mistakes in the rows of a task, before anything is trained.

    Args:
        task, train, validation, encoder, columns, reading: See `finetune`.

    Returns:
        A dictionary of JSON values.

        - `rows`: their number, of both sources;
        - `invalid`: what `finetune` would refuse, with the number of the record:
          missing columns, wrong values, answers that are not at their place. A file
          is read up to the first line that its format does not allow;
        - `files`: lines that an option would read in another way, such as comments;
        - `labels`: how often each occurs; `rare`: those of fewer than 10 rows;
          `alike`: those that differ only in blanks or case; `unknown`: those that
          only `validation` has;
        - `lengths`: tokens of a row: median, longest, and how many rows exceed the
          encoder's `limit`;
        - `empty`: records with an empty text; `duplicates`: records with the texts
          of an earlier one; `contradictions`: those of them with another answer;
          `shared`: records of `validation` that `train` has too;
        - `pieces`: what the first row becomes.

    Raises:
        ValueError: If an argument is invalid.
    """
    check_reading(reading)
    described = tunable_task(task)
    spec = Spec(described, named_columns(described, columns))
    form = spec.format
    preprocessor = load_preprocessor(resolve(encoder, "encoder"))
    sources = {"train": train, "validation": validation}
    valid: dict[str, dict[int, Record]] = {}
    invalid: list[str] = []
    files: list[str] = []
    for name, source in sources.items():
        if source is not None:
            valid[name], known, found = _valid(
                source, form, spec.columns, name, **reading
            )
            spec = dataclasses.replace(spec, columns=known)
            invalid += found
            files += [f"`{name}`: {x}" for x in _findings(source, **reading)]
    rows: dict[str, Rows] = {name: list(x.values()) for name, x in valid.items()}
    report: dict[str, Any] = {
        "rows": {name: len(x) for name, x in rows.items()},
        "invalid": invalid,
        "files": files,
    }
    if not rows["train"]:
        return report
    counts = Counter(x for row in rows["train"] for x in form.classes(row))
    report["labels"] = dict(counts.most_common())
    report["rare"] = [x for x, count in counts.items() if count < FEW]
    report["alike"] = _alike(form, *rows.values())
    tokens = count_tokens(rows["train"], spec, preprocessor)
    lengths = lengths_of(tokens, preprocessor.sequence_length)
    report["lengths"] = dataclasses.asdict(lengths)
    report |= _repeated(valid["train"], form)
    if "validation" in rows:
        seen = {form.key(row) for row in rows["train"]}
        held_out = valid["validation"]
        theirs = {x for row in held_out.values() for x in form.classes(row)}
        report["unknown"] = sorted(theirs - counts.keys())
        report["shared"] = [i for i, x in held_out.items() if form.key(x) in seen]
    pieces = preprocessor.tokenizer.get_vocabulary()
    first = rows["train"][0]
    report["pieces"] = {
        name: [
            pieces[i]
            for i in preprocessor.tokenizer([form.as_text(first, name)])[0].numpy()
        ]
        for name in form.texts
        if name in first
    }
    return report


def _valid(
    source: Any,
    form: RowFormat,
    columns: Columns,
    argument: str,
    **reading: Unpack[Reading],
) -> tuple[dict[int, Record], Columns, list[str]]:
    """Returns the valid rows by number, the columns, and what is wrong elsewhere."""
    rows: dict[int, Record] = {}
    invalid = []
    records = read(source, argument, **reading)
    try:
        for number, record in enumerate(records):
            if not number:
                columns = form.columns_of(columns, record)
            try:
                rows[number] = form.read(record, columns)
            except ValueError as error:
                invalid.append(f"`{argument}`, record {number}: {error}")
    except ValueError as error:  # of the file's format
        invalid.append(f"`{argument}`: {error}. What follows was not read")
    if not rows and not invalid:
        invalid.append(f"`{argument}` must hold records. Received: none")
    try:
        prepared = form.prepared(list(rows.values()))
    except ValueError as error:
        return rows, columns, [*invalid, f"`{argument}`: {error}"]
    # Where rows were joined, the numbers are of what they became.
    numbers = rows if len(rows) == len(prepared) else range(len(prepared))
    return dict(zip(numbers, prepared, strict=True)), columns, invalid


def _findings(source: Any, **reading: Unpack[Reading]) -> list[str]:
    try:
        return findings(source, **reading)
    except ValueError:  # what is invalid is said already
        return []


def _alike(form: RowFormat, *sources: Rows) -> list[list[str]]:
    """Returns the labels that differ only in blanks or case."""
    groups: dict[tuple[str, str], set[str]] = {}
    for row in itertools.chain(*sources):
        for argument, labels in form.labels(row).items():
            for label in labels:
                spelling = "".join(unicodedata.normalize("NFKC", label).split())
                groups.setdefault((argument, spelling.casefold()), set()).add(label)
    return sorted(sorted(labels) for labels in groups.values() if len(labels) > 1)


def _repeated(rows: dict[int, Record], form: RowFormat) -> dict[str, list[int]]:
    """Returns the numbers of rows that are empty, or repeat the texts of others."""
    first: dict[Any, int] = {}
    found: dict[str, list[int]] = {"empty": [], "duplicates": [], "contradictions": []}
    for number, row in rows.items():
        key = form.key(row)
        if not all(text.strip() for text in key):
            found["empty"].append(number)
        earlier = first.setdefault(key, number)
        if earlier != number:
            found["duplicates"].append(number)
            if form.expected(rows[earlier]) != form.expected(row):
                found["contradictions"].append(number)
    return found


def shown(report: dict[str, Any]) -> str:
    """Returns a report of `debug` for people, in lines."""
    lines = [f"rows: {_counts(report['rows'])}"]
    lines += [f"invalid: {len(report['invalid'])}", *report["invalid"][:SHOWN]]
    lines += report["files"]
    if "labels" not in report:
        return "\n".join(lines)
    lengths = report["lengths"]
    if report["labels"]:
        lines.append(f"labels: {_counts(report['labels'])}")
    lines.append(
        f"tokens of a row: {lengths['median']} (median), {lengths['highest']} "
        f"(longest); {lengths['cut']} rows exceed {lengths['limit']}"
    )
    for name in (
        "rare",
        "alike",
        "unknown",
        "empty",
        "duplicates",
        "contradictions",
        "shared",
    ):
        if found := report.get(name):
            examples = ", ".join(map(str, found[:SHOWN]))
            more = ", ..." if len(found) > SHOWN else ""
            lines.append(f"{name}: {len(found)} ({examples}{more})")
    for name, pieces in report["pieces"].items():
        more = " ..." if len(pieces) > PIECES else ""
        lines.append(f"{name}: {' '.join(pieces[:PIECES])}{more}")
    return "\n".join(lines)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
