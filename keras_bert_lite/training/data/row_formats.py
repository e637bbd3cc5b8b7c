"""What the rows of a task hold, and how they are read from records.

A row has a format's own names, such as `text` and `label`, whatever the columns of its
source are called; it is checked once, when it is read.
"""

import abc
import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from keras_bert_lite.checks import check_label
from keras_bert_lite.tagging import OUTSIDE, has_scheme, to_bio
from keras_bert_lite.training.data.questions import answer_span
from keras_bert_lite.training.data.record_values import (
    check_candidates,
    check_grades,
    name_of,
)
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.retrieval import RetrievalSet

Rows = Sequence[Record]
Labels = dict[str, Any]  # lists of names, by the builder's argument
Columns = dict[str, str | None]  # of a source, by a format's own names
SEPARATOR = ","  # between the labels of a row in a table
LISTS = ("candidates", "grades")
LONGEST_LIST = 8  # candidates that are read with a query in training
LARGEST = 1e15  # number of a row; the square of it is still a float32


class RowFormat(abc.ABC):
    """What the rows of a task hold.

    Attributes:
        columns: The own names, and what the columns are called unless a user says
            otherwise; `None`: the column may be missing.
        texts: The own names of the texts, in the order of the model's inputs.
        other_names: What else a column may be called, if it has not its usual name.
        compared: Whether each row has several texts that can be encoded apart.
        separate: Whether each text of a row is always encoded by itself.
        label_arguments: The builder's arguments that name labels.
    """

    columns: ClassVar[Mapping[str, str | None]]
    texts: ClassVar[tuple[str, ...]]
    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    compared: ClassVar[bool] = False
    separate: ClassVar[bool] = False
    label_arguments: ClassVar[tuple[str, ...]] = ()

    def check_columns(self, task: str, columns: Mapping[str, str | None]) -> None:
        """Refuses names of columns that a task cannot read.

        Raises:
            ValueError: If the format has no such column, or needs it.
        """
        if unknown := sorted(columns.keys() - self.columns.keys()):
            raise ValueError(
                f"The task {task!r} reads the columns {list(self.columns)}. "
                f"Received: {unknown}"
            )
        for name, column in columns.items():
            if column is None and self.columns[name] is not None:
                raise ValueError(
                    f"`columns` must name the column of {name!r} for the task "
                    f"{task!r}. Received: {dict(columns)}"
                )

    def columns_of(self, named: Mapping[str, str | None], first: Record) -> Columns:
        """Returns all columns of a source, of which some were named.

        One that was not named is what the first record has: the usual column, or
        another of its names; an optional one may be missing.
        """
        columns = {**self.columns, **named}
        for name, usual in self.columns.items():
            if name in named or (usual and first.get(usual) is not None):
                continue
            free = (
                x
                for x in (name, *self.other_names.get(name, ()))
                if x not in columns.values() and first.get(x) is not None
            )
            columns[name] = next(free, usual)
        return columns

    def read(self, record: Record, columns: Columns) -> Record:
        """Returns the row of a record, under the format's own names.

        Raises:
            ValueError: If a column is missing or a value is invalid.
        """
        row = {}
        for name, column in columns.items():
            if column is None:
                continue
            if column not in record:
                raise ValueError(
                    f"`{name}` must be one of the columns {list(record)} (of a "
                    "table, its first line); `columns` names others. "
                    f"Received: {column!r}"
                )
            row[name] = record[column]
        row = self.converted(row)
        self.check(row)
        return row

    def converted(self, row: Record) -> Record:
        """Converts values of a file, which may be strings."""
        return row

    def check(self, row: Record) -> None:
        """Refuses values that a model cannot be trained on."""
        for name in self.texts:
            if name in row and not (isinstance(row[name], str) and is_text(row[name])):
                raise ValueError(
                    f"`{name}` must be a string. Received: {row[name]!r:.200}"
                )

    def prepared(self, rows: Rows) -> Rows:
        """Changes, or refuses, what only all rows together tell."""
        return rows

    def training_rows(self, rows: Rows) -> Rows:
        """Returns what an epoch reads, which is the rows unless some are too long."""
        return rows

    def prepared_labels(self, labels: Labels) -> Labels:
        """Changes given labels as `prepared` changes those of the rows."""
        return labels

    def labels(self, row: Record) -> dict[str, list[str]]:
        """Returns the labels of a row, by the builder's argument."""
        return {}

    def all_labels(self, rows: Rows) -> Labels:
        """Returns the labels of all rows in order, by the builder's argument."""
        found: dict[str, set[str]] = {}
        for row in rows:
            for name, labels in self.labels(row).items():
                found.setdefault(name, set()).update(labels)
        return {name: self.in_order(name, labels) for name, labels in found.items()}

    def in_order(self, name: str, labels: set[str]) -> list[str]:
        """Sorts the labels of an argument of the builder."""
        return in_order(labels)

    def of_retrieval(self, data: RetrievalSet) -> list[Record]:
        """Returns what a retrieval set teaches, as records with the usual columns.

        Raises:
            ValueError: If it teaches nothing of the kind.
        """
        raise ValueError(
            "must hold rows; a retrieval set is for rankers and sentence encoders. "
            f"Received: one of {len(data.queries)} queries"
        )

    def classes(self, row: Record) -> list[str]:
        """Returns what a row is counted by: its labels, of the first argument."""
        return next(iter(self.labels(row).values()), [])

    def expected(self, row: Record) -> Any:
        """Returns what a row's answer should be; two are the same if they are equal."""
        return [value for name, value in row.items() if name not in self.texts]

    def key(self, row: Record) -> tuple[str, ...]:
        """Returns the texts of a row; rows with the same are duplicates."""
        values = (row[name] for name in self.texts if name in row)
        return tuple(x if isinstance(x, str) else "\n".join(x) for x in values)

    def length(self, row: Record) -> int:
        """Returns the number of characters of a row's texts."""
        return sum(
            len(value) if isinstance(value, str) else sum(map(len, value))
            for name in self.texts
            if (value := row.get(name)) is not None
        )

    def num_sequences(self, row: Record) -> int:
        """Returns how many texts, or pairs of texts, an encoder reads of a row."""
        return 1

    def as_text(self, row: Record, name: str) -> str:
        """Returns a text as one string, split words joined."""
        value = row[name]
        return value if isinstance(value, str) else " ".join(value)


class _Texts(RowFormat):
    columns: ClassVar[Mapping[str, str | None]] = {
        "text": "text",
        "text_pair": None,
        "label": "label",
    }
    texts = ("text", "text_pair")


class LabelledTexts(_Texts):
    """Texts, or pairs of them, with one label."""

    label_arguments = ("labels",)

    def converted(self, row: Record) -> Record:
        label = name_of(row["label"])
        if label is None:
            raise ValueError(
                f"`label` must be a name or a number. Received: {row['label']!r}"
            )
        return {**row, "label": label}

    def check(self, row: Record) -> None:
        super().check(row)
        check_label("label", row["label"])

    def labels(self, row: Record) -> dict[str, list[str]]:
        return {"labels": [row["label"]]}


class MultiLabelTexts(_Texts):
    """Texts, or pairs of them, with any number of labels."""

    label_arguments = ("labels",)

    def converted(self, row: Record) -> Record:
        if not isinstance(row["label"], str):
            return row
        parts = [part.strip() for part in row["label"].split(SEPARATOR)]
        return {**row, "label": [part for part in parts if part]}

    def check(self, row: Record) -> None:
        super().check(row)
        labels = row["label"]
        if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
            raise ValueError(
                "`label` must be a list of names, or names between commas. "
                f"Received: {labels!r}"
            )
        for label in labels:
            check_label("label", label)

    def labels(self, row: Record) -> dict[str, list[str]]:
        return {"labels": sorted(row["label"])}

    def expected(self, row: Record) -> Any:
        return sorted(row["label"])  # in any order


class NumberedTexts(_Texts):
    """Texts, or pairs of them, with a number."""

    def converted(self, row: Record) -> Record:
        return {**row, "label": as_number(row["label"], "label")}

    def check(self, row: Record) -> None:
        super().check(row)
        _check_number(row["label"], "label")


class ComparedTexts(RowFormat):
    """Two texts that belong together, or a number that says how much they do.

    Or a third text, which belongs less to the first than the second does.
    """

    columns: ClassVar[Mapping[str, str | None]] = {
        "text": "text",
        "text_pair": "text_pair",
        "negative": None,
        "label": None,
    }
    texts = ("text", "text_pair", "negative")
    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "text": ("anchor", "query", "sentence1"),
        "text_pair": ("positive", "sentence2"),
        "label": ("score",),
    }
    separate = True

    def converted(self, row: Record) -> Record:
        if "label" not in row:
            return row
        if "negative" in row:
            raise ValueError(
                "`columns` must name `negative` (a text that does not fit) or `label` "
                "(how much two texts do). Received: both"
            )
        return {**row, "label": as_number(row["label"], "label")}

    def check(self, row: Record) -> None:
        super().check(row)
        if "label" in row:
            _check_number(row["label"], "label")

    def of_retrieval(self, data: RetrievalSet) -> list[Record]:
        return data.pairs()

    def num_sequences(self, row: Record) -> int:
        return sum(name in row for name in self.texts)


class TaggedWords(RowFormat):
    """Words with a tag each: entities (BIO, BIOES, IOB1), parts of speech."""

    columns: ClassVar[Mapping[str, str | None]] = {"words": "words", "tags": "tags"}
    texts = ("words",)
    label_arguments: ClassVar[tuple[str, ...]] = ("labels",)  # the last names tags

    def check(self, row: Record) -> None:
        _check_list(row, "words")
        words, tags = row["words"], row["tags"]
        if not isinstance(tags, list) or len(tags) != len(words) or not words:
            raise ValueError(
                f"`tags` must be a list, one for each word. Received: {tags!r:.100} "
                f"for {words!r:.100}"
            )
        for name, values in (("words", words), ("tags", tags)):
            if not all(isinstance(x, str) and x.strip() for x in values):
                raise ValueError(
                    f"`{name}` must hold strings that are not empty. "
                    f"Received: {values!r:.200}"
                )
        for tag in set(tags):
            check_label("tags", tag)

    def prepared(self, rows: Rows) -> Rows:
        """Rewrites tags of any scheme to BIO."""
        if not has_scheme(sorted({tag for row in rows for tag in row["tags"]})):
            return rows
        return [{**row, "tags": to_bio(row["tags"])} for row in rows]

    def prepared_labels(self, labels: Labels) -> Labels:
        """Rewrites tags of any scheme to BIO; their order stays if they are."""
        name = self.label_arguments[-1]
        tags = labels[name]
        if not has_scheme(tags):
            return labels
        bio = self.in_order(name, {to_bio([tag])[0] for tag in tags})
        return labels if set(bio) == set(tags) else {**labels, name: bio}

    def labels(self, row: Record) -> dict[str, list[str]]:
        return {self.label_arguments[-1]: row["tags"]}

    def in_order(self, name: str, labels: set[str]) -> list[str]:
        """Sorts tags, `O` first, with an `I-X` for every `B-X`."""
        if name != self.label_arguments[-1]:
            return super().in_order(name, labels)
        inside = {f"I{tag[1:]}" for tag in labels if tag.startswith("B-")}
        tags = labels | inside if has_scheme(sorted(labels)) else labels
        return sorted(tags, key=lambda tag: (tag != OUTSIDE, tag[2:], tag))


class TaggedWordsWithIntent(TaggedWords):
    """The words of a text with a tag each, and the text's intent."""

    columns: ClassVar[Mapping[str, str | None]] = {
        **TaggedWords.columns,
        "intent": "intent",
    }
    label_arguments = ("intents", "slots")

    def converted(self, row: Record) -> Record:
        intent = name_of(row["intent"])
        return row if intent is None else {**row, "intent": intent}

    def check(self, row: Record) -> None:
        super().check(row)
        if not isinstance(row["intent"], str):
            raise ValueError(
                f"`intent` must be a name or a number. Received: {row['intent']!r}"
            )
        check_label("intent", row["intent"])

    def labels(self, row: Record) -> dict[str, list[str]]:
        return {"intents": [row["intent"]], **super().labels(row)}


class Questions(RowFormat):
    """Questions whose answer is a part of a context, or is not in it."""

    columns: ClassVar[Mapping[str, str | None]] = {
        "question": "question",
        "context": "context",
        "answers": "answers",
    }
    texts = ("question", "context")

    def check(self, row: Record) -> None:
        super().check(row)
        answer_span(row, "context", "answers")

    def classes(self, row: Record) -> list[str]:
        return ["with an answer" if row["answers"]["text"] else "without an answer"]


class _TextsWithLists(RowFormat):
    """A text and a list of others, each of which is encoded in a row of its own."""

    def num_sequences(self, row: Record) -> int:
        return len(row[self.texts[1]])

    def as_text(self, row: Record, name: str) -> str:
        """Returns the text, or the longest of the list."""
        value = row[name]
        return value if isinstance(value, str) else max(value, key=len)


class Choices(_TextsWithLists):
    """Texts with choices, one of which is right."""

    columns: ClassVar[Mapping[str, str | None]] = {
        "text": "text",
        "choices": "choices",
        "label": "label",
    }
    texts = ("text", "choices")
    compared = True

    def converted(self, row: Record) -> Record:
        """Reads the index of a choice that is written in a file as a string."""
        value, choices = row["label"], row["choices"]
        if not isinstance(value, str) or not value.isdecimal():
            return row
        texts = choices if isinstance(choices, list) else []
        if value in texts and texts.index(value) != int(value):
            raise ValueError(
                "`label` must be the place of a choice, from 0, as a number where "
                f"choices are numbers too. Received: {value!r} of {choices!r:.200}"
            )
        return {**row, "label": int(value)}

    def check(self, row: Record) -> None:
        choices, label = row["choices"], row["label"]
        several = isinstance(choices, list) and len(choices) > 1
        if not several or not all(isinstance(x, str) for x in choices):
            raise ValueError(
                "`choices` must be a list of two strings or more. "
                f"Received: {choices!r}"
            )
        place = isinstance(label, int) and not isinstance(label, bool)
        if not place or not 0 <= label < len(choices):
            raise ValueError(
                f"`label` must be the place of one of {len(choices)} choices, from 0. "
                f"Received: {label!r}"
            )
        _check_list(row, "choices")
        super().check({"text": row["text"]})

    def prepared(self, rows: Rows) -> Rows:
        counts = Counter(len(row["choices"]) for row in rows)
        if len(counts) > 1:
            raise ValueError(
                "`choices` must have as many choices in each row. Received: "
                + ", ".join(f"{x} in {n} rows" for x, n in sorted(counts.items()))
            )
        return rows


class RankedCandidates(_TextsWithLists):
    """Queries with candidates, and how relevant each of them is."""

    columns: ClassVar[Mapping[str, str | None]] = {
        "query": "query",
        "candidates": "candidates",
        "grades": "grades",
    }
    texts = ("query", "candidates")
    other_names: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "candidates": ("candidate",),
        "grades": ("labels", "grade", "label"),
    }

    def converted(self, row: Record) -> Record:
        """Reads a row of one candidate, as tables have them, as a list of one."""
        if not isinstance(row["candidates"], str):
            return row
        grade = as_number(row["grades"], "grades")
        return {**row, "candidates": [row["candidates"]], "grades": [grade]}

    def check(self, row: Record) -> None:
        super().check({"query": row["query"]})
        check_candidates(row["candidates"])
        check_grades(row["grades"], row["candidates"])

    def of_retrieval(self, data: RetrievalSet) -> list[Record]:
        return data.lists()

    def prepared(self, rows: Rows) -> Rows:
        """Joins the candidates of a query, if each has a row of its own."""
        if any(len(row["candidates"]) > 1 for row in rows):
            return rows
        lists: dict[str, Record] = {}
        for row in rows:
            empty = {**row, "candidates": [], "grades": []}
            joined = lists.setdefault(row["query"], empty)
            joined["candidates"] += row["candidates"]
            joined["grades"] += row["grades"]
        return list(lists.values())

    def training_rows(self, rows: Rows) -> Rows:
        """Deals the candidates of long lists to several, so that memory is bounded."""
        rng = np.random.default_rng(0)
        return [part for row in rows for part in _short_lists(row, rng)]

    def classes(self, row: Record) -> list[str]:
        return [f"{'with' if any(row['grades']) else 'without'} a relevant candidate"]


def _short_lists(row: Record, rng: np.random.Generator) -> list[Record]:
    """Returns lists with each candidate, relevant ones again where there are too few.

    A list without a relevant candidate would teach nothing.
    """
    grades, most = row["grades"], LONGEST_LIST
    if len(grades) <= most:
        return [row]
    order = rng.permutation(len(grades)).tolist()
    relevant = [i for i in order if grades[i]]
    others = [i for i in order if not grades[i]]
    count = max(math.ceil(len(order) / most), math.ceil(len(others) / (most - 1)))
    if relevant:
        again = max(count, len(relevant))
        relevant = [*itertools.islice(itertools.cycle(relevant), again)]
    dealt = [*relevant, *others]
    return [
        {**row, **{x: [row[x][i] for i in dealt[part::count]] for x in LISTS}}
        for part in range(count)
    ]


def as_number(value: Any, argument: str) -> Any:
    """Reads a number that is written in a file as a string."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        raise ValueError(
            f"`{argument}` must be a number. Received: {value!r}"
        ) from None


def in_order(labels: set[str]) -> list[str]:
    """Sorts labels, those that are whole numbers by their value."""
    if all(re.fullmatch("-?[0-9]+", x) for x in labels):
        return sorted(labels, key=lambda x: (int(x), x))
    return sorted(labels)


def is_text(text: str) -> bool:
    """Whether a string can be encoded; half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_number(value: Any, argument: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # `not <=` refuses NaN too.
    if not number or not abs(value) <= LARGEST:
        raise ValueError(
            f"`{argument}` must be a number of up to {LARGEST:g}. Received: {value!r}"
        )


def _check_list(row: Record, name: str) -> None:
    values = row[name]
    if not isinstance(values, list):
        raise ValueError(f"`{name}` must be a list. Received: {values!r:.200}")
    for text in values:
        if not isinstance(text, str) or not is_text(text):
            raise ValueError(f"`{name}` must be strings. Received: {text!r:.200}")
