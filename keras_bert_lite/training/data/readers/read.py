"""Rows from a file or another source, by its name."""

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict, Unpack

from keras_bert_lite.checks import check_choice
from keras_bert_lite.training.data.readers.conll import (
    LAST,
    is_conll,
    lone_comments,
    read_conll,
)
from keras_bert_lite.training.data.readers.conllu import read_conllu
from keras_bert_lite.training.data.readers.csv_files import read_table, unread_quotes
from keras_bert_lite.training.data.readers.jsonl import read_jsonl
from keras_bert_lite.training.data.readers.lines import as_paths, suffix
from keras_bert_lite.training.data.readers.spans import (
    has_spans,
    is_array,
    misplaced_spans,
    read_spans,
)
from keras_bert_lite.training.data.readers.squad import read_squad
from keras_bert_lite.training.data.records import Records, records

FORMATS: dict[str, Callable[..., Records]] = {
    "tsv": functools.partial(read_table, ending=".tsv"),
    "csv": functools.partial(read_table, ending=".csv"),
    "jsonl": read_jsonl,
    "squad": read_squad,
    "conll": read_conll,
    "conllu": read_conllu,
    "spans": read_spans,
}
ENDINGS = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".json": "squad",
    ".conll": "conll",
    ".conllu": "conllu",
}


class Reading(TypedDict, total=False):
    r"""The options of `read`, and of everything that reads files through it.

    Args:
        format: Of the files: `tsv`, `csv`, `jsonl`, `squad`, `conll`, `conllu` or
            `spans`; `None`: what their names end in.
        delimiter: Of tables and CoNLL, such as `;` or `\t`.
        quoting: Of tables, whether quotation marks enclose values; `None`: yes for
            commas, and for tabs if they all do.
        comments: Of tables and CoNLL, what the lines begin with that are skipped.
        extra_values: Of tables: `ignore` leaves out values beyond the last column;
            `error` refuses them.
        scheme: Of CoNLL: `bio` or `bioes`, which its tags are converted to.
        word_column: Of CoNLL, from 0.
        tag_column: Of CoNLL, from 0; -1 for the last.
        tags: Of CoNLL-U, the column of the tags: `upos`, `xpos` or `deprel`.
        misplaced: Of SQuAD: `find` or `skip` answers that are not at their place; of
            spans, widen those that end inside a word, or skip them; `error` refuses
            them.
        repeated_ids: Of SQuAD: `keep` questions with the id of an earlier one;
            `error` refuses them.
    """

    format: str | None
    delimiter: str | None
    quoting: bool | None
    comments: str | None
    extra_values: str
    scheme: str | None
    word_column: int
    tag_column: int | None
    tags: str
    misplaced: str
    repeated_ids: str


def read(source: Any, argument: str = "source", **reading: Unpack[Reading]) -> Records:
    """Returns the records of a file, of a published data set, or of a source.

    Args:
        source: Any of

            - a path that ends in `.tsv`, `.csv` (`read_csv`), `.jsonl`, `.conll`,
              `.conllu` or `.json` (`read_squad`), and `.gz` or `.xz` after it; in JSON,
              texts with spans of characters are recognized (`read_spans`); or of a file
              whose `format` is given, or whose lines end in tags of entities
              (`read_conll`), such as CoNLL's `train.txt`;
            - `datasets://NAME:SPLIT` or `datasets://NAME:CONFIG:SPLIT`, a data set of
              Hugging Face `datasets`; `tfds://NAME:SPLIT`, one of
              `tensorflow_datasets`. SPLIT may be a part, such as `train[:1000]`. These
              libraries must be installed;
            - anything that `records` takes, such as a list of dictionaries or a
              pandas `DataFrame`.
        argument: The name of the source in error messages.
        **reading: `format`: `"tsv"`, `"csv"`, `"jsonl"`, `"squad"`, `"conll"`,
            `"conllu"` or `"spans"`, whatever the file's name ends in; and options of
            its reader:
            `delimiter` (tables and CoNLL), `quoting`, `extra_values` (tables),
            `comments` (tables and CoNLL), `scheme`, `word_column`, `tag_column`
            (CoNLL), `tags` (CoNLL-U), `misplaced` (SQuAD, spans),
            `repeated_ids` (SQuAD).

    Raises:
        FileNotFoundError: If there is no such file.
        TypeError: If an option is unknown.
        ValueError: If the format of a file is unknown, or has no such option.
        ImportError: If the library of a data set is not installed.
    """
    check_reading(reading)
    name = fspath(source) if isinstance(source, (str, PathLike)) else ""
    if not name or "://" in name:
        if reading:
            raise ValueError(
                f"`{argument}` must be a file for the options {sorted(reading)}. "
                f"Received: {source!r:.200}"
            )
        return _published(name, argument) if name else records(source, argument)
    path = Path(name)
    form = format_of(path, argument, **reading)
    if form is None:
        raise ValueError(
            f"`{argument}` must be a file that ends in one of {list(ENDINGS)}, or "
            f"`format` must be one of {list(FORMATS)}, or `{argument}` the result of a "
            f"reader, such as `read_conll(path)`. Received: {name!r}"
        )
    options = {x: value for x, value in reading.items() if x != "format"}
    known = [x for x in _parameters(FORMATS[form]) if x in Reading.__annotations__]
    if unknown := sorted(options.keys() - {*known}):
        raise ValueError(
            f"`{argument}` is read as {form!r}, whose options are {known}. "
            f"Received: {unknown}, for {name!r}"
        )
    return FORMATS[form](path, **options)


def format_of(path: Path, argument: str = "source", **reading: Any) -> str | None:
    """Returns the format of a file: given, by its ending, or CoNLL's by its lines.

    Raises:
        FileNotFoundError: If there is no such file.
    """
    as_paths(path, argument)  # refuses what is not a file, by the argument's name
    if reading.get("format") is not None:
        return reading["format"]
    json = suffix(path) == ".jsonl" or (suffix(path) == ".json" and is_array(path))
    if json and has_spans(path):
        return "spans"
    if suffix(path) in ENDINGS:
        return ENDINGS[suffix(path)]
    given = {x: reading[x] for x in ("delimiter", "comments") if x in reading}
    return "conll" if is_conll(path, **given) else None


def check_reading(reading: Mapping[str, Any]) -> None:
    """Refuses what is no option of `read`.

    Raises:
        TypeError: If there is no such option, as for any function's argument.
        ValueError: If the format is unknown.
    """
    for name in reading:
        if name not in Reading.__annotations__:
            raise TypeError(f"got an unexpected keyword argument {name!r}")
    check_choice("format", reading.get("format"), (*FORMATS, None))


def findings(source: Any, **reading: Unpack[Reading]) -> list[str]:
    """Returns what a file may hold besides what was read of it, in sentences."""
    if not isinstance(source, (str, PathLike)) or "://" in fspath(source):
        return []
    path, delimiter = Path(source), reading.get("delimiter")
    form = format_of(path, **reading)
    if form == "conll" and reading.get("comments") is None:
        lines = lone_comments(path, delimiter, reading.get("tag_column", LAST))
        what, advice = "begin with #, before a sentence", '`comments="#"` skips them'
    elif form in ("tsv", "csv") and reading.get("quoting") is None:
        lines = unread_quotes(path, delimiter, f".{form}")
        what, advice = "hold values in quotation marks", "`quoting=True` removes these"
    elif form == "spans":
        found = misplaced_spans(path)
        return found and [
            f"{len(found)} spans begin or end inside a word ({found[0]!r:.80}): "
            '`misplaced="find"` widens them, `"skip"` leaves them out'
        ]
    else:
        return []
    if not lines:
        return []
    return [f"{len(lines)} lines {what} ({lines[0]!r:.80}): {advice}"]


def _published(name: str, argument: str) -> Records:
    for scheme, load in (("datasets://", _datasets), ("tfds://", _tfds)):
        if name.startswith(scheme):
            return records(load(name.removeprefix(scheme), argument))
    raise ValueError(
        f"`{argument}` must be a file, datasets://NAME:SPLIT or tfds://NAME:SPLIT. "
        f"Received: {name!r}"
    )


def _parameters(reader: Callable[..., Records]) -> list[str]:
    return list(inspect.signature(reader).parameters)


def _datasets(name: str, argument: str) -> Any:
    *parts, split = _parts(name, "datasets://NAME:SPLIT", argument, most=3)
    return _module("datasets", argument).load_dataset(*parts, split=split)


def _tfds(name: str, argument: str) -> Any:
    name, split = _parts(name, "tfds://NAME:SPLIT", argument, most=2)
    return _module("tensorflow_datasets", argument).load(name, split=split)


def _parts(name: str, form: str, argument: str, most: int) -> list[str]:
    # Not slashes, which are in the names themselves: owner/name, name/config.
    whole, bracket, part = name.partition("[")  # train[:100]
    *parts, split = whole.split(":")
    parts = [*parts, f"{split}{bracket}{part}"]
    if not 2 <= len(parts) <= most or not all(parts):
        raise ValueError(f"`{argument}` must be {form}. Received: {name!r}")
    return parts


def _module(name: str, argument: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"`{argument}` needs the package {name}: `pip install {name}`."
        ) from error
