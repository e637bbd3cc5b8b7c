"""Answers to the rows of a file."""

import csv
import itertools
import os
import re
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, Unpack

import numpy as np

from keras_bert_lite._files import replaced_file, to_json
from keras_bert_lite._finite import NotFinite, is_finite
from keras_bert_lite.checks import check_bool, check_choice, check_positive
from keras_bert_lite.finetuning.saved_run import SavedRun, load_run
from keras_bert_lite.serving.offline import predict_texts
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.tasks.text_parts import absent_in, answer_of, preprocessor_of
from keras_bert_lite.text.inputs import PROMPT
from keras_bert_lite.training.data.readers.lines import lines_of, read_lines
from keras_bert_lite.training.data.readers.read import (
    Reading,
    check_reading,
    format_of,
    read,
)
from keras_bert_lite.training.data.readers.spans import (
    TOOLS,
    Span,
    as_spans,
    read_texts,
)
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_formats import is_text

STANDARD = "-"
STANDARD_INPUT = Path("standard input")  # in error messages
GIVEN = "given_"
SUFFIXES = (".tsv", ".jsonl")
FORMULAS = ("=", "+", "-", "@")  # how a spreadsheet's formulas begin


def predict_file(
    model: TextModel | str | os.PathLike,
    source: str | os.PathLike,
    output: str | os.PathLike = STANDARD,
    columns: Mapping[str, str | None] | None = None,
    batch_size: int = 32,
    progress: bool = True,
    spreadsheet: bool = False,
    spans: str | None = None,
    **reading: Unpack[Reading],
) -> int:
    """Writes a model's answers to the texts of a file.

    The texts are read as a stream and processed in batches of similar length, so a
    file may have any size. The order stays.

    Args:
        model: The directory of a run of `finetune`, a `.keras` file, or a model made
            by `with_text`.
        source: A file: a table, JSON Lines or another that `data.read` reads, with the
            columns of the texts, which may be lists of words where the task is about
            words; or any other file, with a text a line; `-` reads lines from standard
            input.
        output: The file to write. `.jsonl`: an object a row, with the columns of the
            source and the answers by name; a column with the name of an answer
            becomes `given_` and its name. `.tsv`: the same with a header, the columns
            of the first row; in strings, tabs and line ends become spaces, other
            values are JSON. Both are empty if there are no rows. `-`: JSON Lines to
            standard output. The source's texts stay as they are, also those that a
            spreadsheet would run as formulas; see `spreadsheet`.
        columns: The columns of the texts that are not called `text` and `text_pair`;
            by default those of the run, or of the task (`words`; `question` and
            `context`; `choices`; `query` and `candidates`), if the first row has them.
        batch_size: Texts per batch.
        progress: Whether to show a progress bar.
        spreadsheet: Whether a `.tsv` is opened in a spreadsheet, which takes a cell
            for a formula if it begins with `=`, `+`, `-` or `@`. Strings that do then
            begin with an apostrophe.
        spans: The annotation tool in whose form the entities of a tagger are written,
            in place of other answers: `"doccano"`, `"label_studio"`, `"prodigy"` or
            `"spacy"`. The source is JSON Lines with a `text`, or a file of the tool;
            the output ends in `.jsonl` or is `-`.
        **reading: Options of `data.read`, if `source` is a file that it reads.

    Returns:
        The number of rows.

    Raises:
        ValueError: If the ending of `output` is unknown, it is the source, `columns`
            names what the task does not read, a row lacks a column or its text is no
            string, or a later row of a `.tsv` has more columns than the first.
        FileNotFoundError: If `source` does not exist.

    Example:

    >>> encoder = kbl.load_encoder("bert_mini_books")
    >>> preprocessor = kbl.load_preprocessor("bert_mini_books")
    >>> model = kbl.text_classifier(encoder, labels=["bad", "good"], pooling="mean")
    >>> with open("new.txt", "w") as file:
    ...     print("a lovely day", file=file)
    >>> text_model = kbl.with_text(model, preprocessor)
    >>> kbl.predict_file(text_model, "new.txt", "answers.tsv", progress=False)
    1
    """
    check_positive("batch_size", batch_size)
    check_bool("spreadsheet", spreadsheet)
    check_reading(reading)
    path = None if os.fspath(output) == STANDARD else Path(output)
    if path is not None and path.suffix not in SUFFIXES:
        raise ValueError(
            f"`output` must end in one of {SUFFIXES}, or be '-'. "
            f"Received: {str(output)!r}"
        )
    if path is not None and path.resolve() == Path(source).resolve():
        raise ValueError(
            "`output` must be another file than `source`, which would be lost. "
            f"Received: {str(output)!r}"
        )
    if path is not None and path.is_dir():
        raise ValueError(
            f"`output` must be a file, not a directory. Received: {str(output)!r}"
        )
    if spreadsheet and (path is None or path.suffix != ".tsv"):
        raise ValueError(
            f"`spreadsheet` needs an `output` in .tsv. Received: {str(output)!r}"
        )
    if spans is not None:
        check_choice("spans", spans, tuple(TOOLS))
        if path is not None and path.suffix != ".jsonl":
            raise ValueError(
                f"`spans` needs an `output` in .jsonl. Received: {str(output)!r}"
            )
        if columns or reading:
            raise ValueError(
                "`spans` reads the `text` of JSON Lines, without `columns` and options "
                f"of files. Received: {[*(columns or {}), *reading]}"
            )
    run = load_run(model, "model")
    if spans is not None:
        _check_entities(run.model)
        records, named = read_texts(Path(source)), {"text": "text"}
    else:
        column = next(iter(_text_columns(run, columns or {}, {}).values()))
        records = iter(_records(source, column, **reading))
    first = list(itertools.islice(records, 1))
    if spans is None:
        named = _text_columns(run, columns or {}, first[0] if first else {})
    names = [*named.values()]
    split = any(isinstance(row.get(names[0]), list) for row in first)
    joined = len(run.model.input[next(iter(named))].shape) == 1
    answering = run.scored_model(run.spec()) if split and joined else run.model
    lists = [len(answering.input[x].shape) > 1 for x in named]
    rows = _Rows(itertools.chain(first, records), names, lists, _limit(run.model))
    # Keras prints its progress bar to standard output.
    shown = progress and path is not None
    answers = _readable(
        answering, predict_texts(answering, rows.texts(), batch_size, shown)
    )
    made = rows.joined(answers) if spans is None else rows.annotated(answers, spans)
    count = _write(made, path, spreadsheet)
    if rows.cut:
        warnings.warn(
            f"{rows.cut} of {count} texts have more words than the model reads tokens, "
            f"{rows.limit}: their ends were cut off.",
            stacklevel=2,
        )
    return count


def _check_entities(model: TextModel) -> None:
    """Refuses a model that answers with no entities of a text."""
    if "entity_starts" not in model.output:
        raise ValueError(
            "`spans` needs a `model` that answers with entities. Received: a model "
            f"with the answers {[*model.output]}"
        )


def _write(rows: Iterator[Record], path: Path | None, spreadsheet: bool) -> int:
    if path is None:
        return _write_json(rows, sys.stdout)
    with replaced_file(path) as beside, beside.open("w", encoding="utf-8") as file:
        if path.suffix == ".jsonl":
            return _write_json(rows, file)
        return _write_table(rows, file, spreadsheet)


def _limit(model: TextModel) -> int | None:
    """Returns the tokens of a row, if the model reads no more of a text."""
    task, preprocessor = task_of(model), preprocessor_of(model)
    windowed = preprocessor.stride is not None or (task is not None and task.windowed)
    return None if windowed else preprocessor.sequence_length


class _Rows:
    """Rows whose texts are answered some time after they were read.

    Args:
        rows: The rows.
        names: The columns of the texts, which may be the same.
        lists: Whether each holds lists.
        limit: Words from which on a text is surely cut off; `None`: never.
    """

    def __init__(
        self,
        rows: Iterable[Record],
        names: list[str],
        lists: list[bool],
        limit: int | None,
    ) -> None:
        self._rows, self._names, self._lists = rows, names, lists
        self.limit, self.cut = limit, 0
        self._waiting: deque[Record] = deque()

    def texts(self) -> Iterator[Any]:
        for number, row in enumerate(self._rows):
            for name in self._names:
                if name not in row:
                    raise ValueError(
                        f"`source`, record {number}: must have the column {name!r}; "
                        f"see `columns`. Received: {list(row)}"
                    )
            self._waiting.append(row)
            values = tuple(row[name] for name in self._names)
            given = zip(self._names, self._lists, values, strict=True)
            for name, several, value in given:
                if isinstance(value, list) != several or not _is_text(value):
                    form = "a list of strings" if several else "a string"
                    raise ValueError(
                        f"`source`, record {number}: `{name}` must be {form}. "
                        f"Received: {value!r:.200}"
                    )
            self.cut += self._is_cut(values)
            yield values if len(values) > 1 else values[0]

    def _is_cut(self, texts: tuple) -> bool:
        limit = self.limit
        return limit is not None and any(
            len(x.split()) > limit for x in texts if isinstance(x, str)
        )

    def joined(self, answers: Iterable[dict[str, Any]]) -> Iterator[Record]:
        """Yields rows with their answers."""
        for answer in answers:
            row = self._waiting.popleft()
            answer = _with_all_words(answer, row[self._names[0]])
            yield {**_beside(row, answer), **answer}

    def annotated(
        self, answers: Iterable[dict[str, Any]], tool: str
    ) -> Iterator[Record]:
        """Yields rows with their entities, as an annotation tool holds spans."""
        for answer in answers:
            row = self._waiting.popleft()
            parts = (answer[f"entity_{x}"] for x in ("starts", "ends", "labels"))
            entities = [Span(*x) for x in zip(*parts, strict=True)]
            columns = as_spans(tool, row["text"], entities)
            if "data" in columns:  # Label Studio's, which holds the text
                row = {name: x for name, x in row.items() if name != "text"}
            yield {**row, **columns}


def _is_text(value: Any) -> bool:
    """Whether a value is a string that can be encoded, or a list of such."""
    texts = value if isinstance(value, list) else [value]
    return all(isinstance(x, str) and is_text(x) for x in texts)


NO_LABEL = {"labels": "", "scores": 0.0}


def _with_all_words(answer: dict[str, Any], words: Any) -> dict[str, Any]:
    """Returns an answer with a label for each word.

    `without_padding` takes the last words for padding if they have no label.
    """
    if not isinstance(words, list):
        return answer
    filled = {
        name: [*answer[name], *[none] * (len(words) - len(answer[name]))]
        for name, none in NO_LABEL.items()
    }
    return {**answer, **filled}


def _beside(row: Record, answer: Mapping[str, Any]) -> Record:
    """Returns a row whose columns have no name of the answer's."""
    made = {}
    for name, value in row.items():
        if name in answer:
            while name in answer or name in row:
                name = f"{GIVEN}{name}"
        made[name] = value
    return made


def _text_columns(
    run: SavedRun, given: Mapping[str, Any], row: Record
) -> dict[str, str]:
    """Returns the columns of the model's inputs.

    They are those given, or those of the run, or the task's, if the row has them. The
    names of prompts may be missing.
    """
    task, inputs = task_of(run.model), [*run.model.input]
    if PROMPT in inputs and not {*given, *row} & {PROMPT}:
        inputs.remove(PROMPT)
    own = {} if task is None else task.columns
    columns = {} if task is None else task.inputs
    known = [*inputs, *own]  # labels too, as `evaluate` takes them
    others = run.columns or {x: column for x, column in own.items() if column in row}
    if unknown := sorted(given.keys() - set(known)):
        raise ValueError(
            f"`columns` must name some of {sorted(set(known))}. Received: {unknown}"
        )
    return {
        name: next(
            (
                x
                for named in (given, others)
                for key in (columns.get(name, name), name)
                if (x := named.get(key))
            ),
            name,
        )
        for name in inputs
    }


def _records(
    source: str | os.PathLike, column: str, **reading: Unpack[Reading]
) -> Iterable[Record]:
    name = os.fspath(source)
    if name != STANDARD and (
        "://" in name or format_of(Path(name), **reading) is not None
    ):
        return read(name, **reading)
    if reading:
        raise ValueError(
            "`source` has a text a line, if `format` does not tell another format "
            f"with the options {sorted(reading)}. Received: {name!r}"
        )
    if name == STANDARD:
        lines = lines_of(sys.stdin.buffer, STANDARD_INPUT)
    else:
        lines = read_lines(Path(name))
    return ({column: line.text} for line in lines)


def _readable(
    model: TextModel, answers: Iterable[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Converts answers to Python's values, without padding.

    Raises:
        NotFinite: If an answer is NaN or infinite.
    """
    answer, absent = answer_of(model), absent_in(model)
    for number, found in enumerate(answers):
        for name, value in found.items():
            if not is_finite(value, absent.get(name)):
                raise NotFinite(
                    "`model` must answer with finite numbers",
                    f"NaN or infinity in {name!r} for record {number} of `source`",
                )
        kept = found if answer is None else answer.without_padding(found)
        yield {name: _rounded(value) for name, value in kept.items()}


def _rounded(value: Any) -> Any:
    """Returns a value for JSON; float32 has about seven digits."""
    if isinstance(value, np.floating):
        return float(f"{value:.7g}")
    if isinstance(value, np.ndarray) and value.ndim:
        return [_rounded(x) for x in value]
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


def _write_json(rows: Iterable[Record], file: TextIO) -> int:
    count = 0
    for row in rows:
        print(_encodable(to_json(row, ensure_ascii=False)), file=file)
        count += 1
    return count


def _write_table(rows: Iterable[Record], file: TextIO, spreadsheet: bool) -> int:
    writer = csv.writer(
        file,
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
        quotechar=None,
        lineterminator="\n",
    )
    count = 0
    names: list[str] = []
    for row in rows:
        if not count:
            names = list(row)
            writer.writerow(_cell(name, spreadsheet) for name in names)
        if more := sorted(row.keys() - set(names)):
            raise ValueError(
                f"`output` can be .tsv only if no record of `source` has columns that "
                f"the first one lacks; .jsonl can. Received: {more} in record {count}"
            )
        writer.writerow(_cell(row.get(name), spreadsheet) for name in names)
        count += 1
    return count


def _cell(value: Any, spreadsheet: bool) -> str:
    if isinstance(value, str):
        text = _encodable(" ".join(re.split(r"[\t\r\n]", value)))
        formula = spreadsheet and text.lstrip().startswith(FORMULAS)
        return f"'{text}" if formula else text
    return _encodable(to_json(value, ensure_ascii=False))


def _encodable(text: str) -> str:
    """Returns a string with each half of a surrogate pair as JSON's escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
