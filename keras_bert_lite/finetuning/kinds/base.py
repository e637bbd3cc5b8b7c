"""What a kind of task is, to fine-tune it."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import keras
import numpy as np

from keras_bert_lite._finite import NotFinite, is_finite
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.tasks.registry import TASKS
from keras_bert_lite.tasks.task import Task, labels_of
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.records import Record

Rows = Sequence[Record]
Answers = Mapping[str, Any]
Scores = dict[str, float]
Labels = dict[str, Any]  # lists of names, by the builder's argument
# Rows with a label or choices whose texts are compared, below which a linear model is
# kept unless fine-tuning is surely better: with a label it mostly was not.
FEW_COMPARED = 1000
LISTS = ("words", "choices")  # columns that hold several texts


class Verdict(NamedTuple):
    """How a row was answered.

    Args:
        text: The row, as a reader recognizes it.
        expected, answer: The right answer and the model's.
        loss: How wrong the answer is; rows are ranked by it.
    """

    text: str
    expected: str
    answer: str
    loss: float


class Kind(abc.ABC):
    """A kind of task: how rows become a model, its data and its scores.

    Attributes:
        name: Name of the task, as in `models.tasks.registry`.
        metrics: The scores that can decide, of which larger ones are better; the
            first does by default.
        metric: The score that decides.
        needs_known_labels: Whether an answer has no score if a row's label is none of
            the model's.
        options_kept: Options of the answer that count when a saved model is scored.
        batch_size: Rows of a step, if the task has its own number.
        epochs, rate: The epochs and the peak rate, as multiples of other tasks'.
        amounts: Scores that are not shares, but in the unit of the labels.

    Args:
        **columns: The names of columns that differ from those of the task's row.

    Raises:
        ValueError: If the task has no such column, or needs it.
    """

    name: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    needs_known_labels: ClassVar[bool] = False
    options_kept: ClassVar[tuple[str, ...]] = ()
    batch_size: ClassVar[int | None] = None
    epochs: ClassVar[int] = 1
    rate: ClassVar[float] = 1.0
    amounts: ClassVar[tuple[str, ...]] = ()
    apart = False  # whether the texts of a row are encoded apart

    def __init__(self, **columns: str | None) -> None:
        usual = self.task.columns
        if unknown := sorted(columns.keys() - usual.keys()):
            raise ValueError(
                f"The task {self.name!r} reads the columns {list(usual)}. "
                f"Received: {unknown}"
            )
        for name, column in columns.items():
            if column is None and usual[name] is not None:
                raise ValueError(
                    f"`columns` must name the column of {name!r} for the task "
                    f"{self.name!r}. Received: {columns}"
                )
        self.column: dict[str, Any] = {**usual, **columns}
        self.metric = self.metrics[0]
        self._optional = [
            x for x, name in usual.items() if name is None and x not in columns
        ]

    @property
    def task(self) -> Task:
        """The row of the task."""
        return TASKS[self.name]

    def find_optional(self, row: Record) -> None:
        """Takes the optional columns that the first row has, unless they were named."""
        free = set(self._optional) - set(self.column.values())
        self.column |= {name: name for name in free if row.get(name) is not None}
        self._optional = []

    def converted(self, row: Record) -> Record:
        """Converts the values of a row from a file, which may be strings."""
        return row

    def check(self, row: Record) -> None:
        """Refuses a row with a value that cannot be trained on."""
        for name in self.text_columns:
            value = row[name]
            several = name in (self.column.get(x) for x in LISTS)
            if several and not isinstance(value, list):
                raise ValueError(f"`{name}` must be a list. Received: {value!r:.200}")
            for text in value if several else [value]:
                if not isinstance(text, str) or not is_unicode(text):
                    raise ValueError(
                        f"`{name}` must be {'strings' if several else 'a string'}. "
                        f"Received: {text!r:.200}"
                    )

    def valid(self, row: Record) -> Record:
        """Returns a row of a source as it is trained on.

        Raises:
            ValueError: If it lacks a column or a value is invalid.
        """
        self.find_optional(row)
        self.check_columns(row)
        made = self.converted(row)
        self.check(made)
        return made

    def classes(self, row: Record) -> list[str]:
        """Returns the labels of a row, or its tags."""
        return []

    def expected(self, row: Record) -> Any:
        """Returns what a row's answer should be; two are the same if they are equal."""
        texts = self.text_columns
        return [row[x] for x in self.column.values() if x and x not in texts]

    def row_labels(self, row: Record) -> Labels:
        """Returns the labels of a row, by the builder's argument."""
        return {}

    def class_weights(
        self, given: str | Mapping[str, float], rows: Rows, labels: Labels
    ) -> list[float]:
        """Returns the weight of each label in training.

        Raises:
            ValueError: If the task has not one label a row, or a label is unknown.
        """
        raise ValueError(
            "`class_weight` is for the task 'text_classification', whose rows have "
            f"one label each. Received: {given!r} for {self.name!r}"
        )

    def key(self, row: Record) -> tuple[str, ...]:
        """Returns the texts of a row; rows with the same are duplicates."""
        return tuple(
            x if isinstance(x := row[name], str) else "\n".join(x)
            for name in self.text_columns
        )

    def prepared(self, rows: Rows) -> Rows:
        """Changes what depends on all rows."""
        return rows

    def prepared_labels(self, labels: Labels) -> Labels:
        """Changes given labels as `prepared` does those of the rows."""
        return labels

    @abc.abstractmethod
    def find_labels(self, rows: Rows) -> Labels:
        """Returns the labels in the rows, sorted, by the builder's argument."""

    def labels_of(self, model: keras.Model) -> Labels:
        """Returns the labels of a model on ids, as `find_labels` does."""
        labels = labels_of(model)
        return {} if labels is None else {"labels": labels}

    @abc.abstractmethod
    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        """Builds the model on ids."""

    def dataset(
        self, rows: Any, preprocessor: Preprocessor, labels: Labels, **batching: Any
    ) -> tf.data.Dataset:
        """Makes the task's data set for `fit`."""
        make = self.task.data_set
        assert make is not None  # of every task of a kind
        return make(rows, preprocessor, **self.data_options(labels), **batching)

    def data_options(self, labels: Labels) -> dict[str, Any]:
        """Returns the columns and labels, as the data set's function takes them."""
        return {**self.column, **labels}

    @abc.abstractmethod
    def texts(self, rows: Rows) -> Any:
        """Returns the rows as `TextModel.predict` takes them."""

    @abc.abstractmethod
    def scores(self, rows: Rows, answers: Answers, labels: Labels) -> Scores:
        """Scores the answers of `string_model`."""

    @abc.abstractmethod
    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        """Judges each answer."""

    def string_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        """Returns the model that takes strings and whose answers are scored."""
        return with_text(model, preprocessor, **options)

    def served_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        """Returns the model that takes strings and that is saved."""
        return self.string_model(model, preprocessor, **options)

    @property
    def pairs(self) -> bool:
        """Whether a row's texts can be encoded apart and compared."""
        return self.column.get("text_pair") is not None

    def undecided(self, rows: Rows) -> bool:
        """Whether linear models decide how texts are encoded, if nothing is said."""
        return self.pairs

    def first(self, rows: Rows) -> Rows:
        """Returns the rows that training begins with, all by default."""
        return rows

    def softens(self) -> bool:
        """Whether a linear model is made unsure before all weights are trained."""
        return False

    def trusts_linear(self, rows: Rows) -> bool:
        """Whether a linear model is kept unless fine-tuning is surely better."""
        return False

    def few_of_a_label(self, rows: Rows, most: int) -> bool:
        """Whether rows are texts with a label, up to `most` of each on average."""
        return False

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        """Yields the labels that were mistaken: the right one and the answer."""
        yield from ()

    def tuned(
        self, rows: Rows, answers: Answers, labels: Labels
    ) -> tuple[dict[str, Any], Answers]:
        """Chooses thresholds on held-out rows.

        Returns:
            Options of `string_model`, and the answers with them.
        """
        return {}, answers

    def text_of(self, row: Record, name: str) -> str:
        """Returns a column of a row as the model reads it, split words joined."""
        value = row[name]
        return value if isinstance(value, str) else " ".join(value)

    def length(self, row: Record) -> int:
        """Returns the number of characters of a row's texts."""
        return sum(
            len(value) if isinstance(value, str) else sum(map(len, value))
            for name in self.text_columns
            if isinstance(value := row.get(name), (str, list))
        )

    @property
    def text_columns(self) -> list[str]:
        """The columns that hold texts."""
        names = self.task.inputs.values()
        return [x for name in names if (x := self.column[name]) is not None]

    def check_columns(self, row: Record) -> None:
        """Refuses rows that lack a column."""
        for argument, name in self.column.items():
            if name is not None and name not in row:
                raise ValueError(
                    f"`{argument}` must be one of the columns {list(row)} (of a "
                    "table, its first line); `columns` names others. "
                    f"Received: {name!r}"
                )

    def answer(self, model: TextModel, rows: Rows, size: int = 64) -> Answers:
        """Answers rows, in their order, in batches of similar length.

        Raises:
            NotFinite: If an answer is NaN or infinite.
        """
        order = np.argsort([self.length(row) for row in rows], kind="stable")
        found = model.predict(self.texts([rows[i] for i in order]), size, verbose=0)
        for name, value in found.items():
            if not is_finite(value):
                rule = "`model` must answer with finite numbers"
                raise NotFinite(rule, f"NaN or infinity in the answers' {name!r}")
        back = np.argsort(order)
        return {name: np.asarray(value)[back] for name, value in found.items()}


def is_unicode(text: str) -> bool:
    """Whether a string can be encoded; half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
