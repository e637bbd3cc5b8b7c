"""What is made of rows: how a task's models read, answer and score them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice
from keras_bert_lite.tasks.registry import TASKS, task_of
from keras_bert_lite.tasks.task import FineTuning, Task, labels_by_output
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.tasks.text_parts import answers_to, preprocessor_of
from keras_bert_lite.text.inputs import PROMPT
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.row_formats import Columns, Labels, RowFormat, Rows
from keras_bert_lite.training.scores.scorer import Answers, Scorer, Scores

TUNABLE = {name: x.fine_tuning for name, x in TASKS.items() if x.fine_tuning}


def tunable_task(name: str) -> Task:
    """Returns a task that can be fine-tuned.

    Raises:
        ValueError: If there is none of that name.
    """
    check_choice("task", name, tuple(TUNABLE))
    return TASKS[name]


def scorable_task(model: keras.Model) -> Task:
    """Returns the task of a model, whose answers can be scored.

    Raises:
        ValueError: If they cannot.
    """
    task = task_of(model)
    if task is None or task.fine_tuning is None:
        raise ValueError(
            f"`model` must be of one of the tasks {list(TUNABLE)}. "
            f"Received: {task and task.name!r}"
        )
    return task


@dataclasses.dataclass(frozen=True)
class Spec:
    """A task and what was decided about its rows.

    Args:
        task: The task, which must have `fine_tuning`.
        columns: The columns of a source, by the names of the rows' format.
        labels: The labels, by the builder's argument.
        metric: The score that decides; `""`: the scorer's first.
        apart: Whether the texts of a row are encoded apart, as some tasks' always are.
        class_weight: The weight of each label in training.
    """

    task: Task
    columns: Columns
    labels: Labels = dataclasses.field(default_factory=dict)
    metric: str = ""
    apart: bool = False
    class_weight: list[float] | None = None

    def __post_init__(self) -> None:
        if not self.metric:
            object.__setattr__(self, "metric", self.scorer.metrics[0])
        if self.format.separate:
            object.__setattr__(self, "apart", True)

    def of_rows(self, columns: Columns, metric: str | None = None) -> Spec:
        """Returns it with the columns that rows turned out to have.

        Their form decides which scores there are, and which is the first.
        """
        return dataclasses.replace(self, columns=columns, metric=metric or "")

    @property
    def fine_tuning(self) -> FineTuning:
        assert self.task.fine_tuning is not None
        others = self.task.other_forms.items()
        fitting = (form for column, form in others if self.columns.get(column))
        return next(fitting, self.task.fine_tuning)

    @property
    def format(self) -> RowFormat:
        return self.fine_tuning.rows

    @property
    def scorer(self) -> Scorer:
        return self.fine_tuning.scorer

    @property
    def pairs(self) -> bool:
        """Whether models take pairs of texts."""
        paired = self.columns.get("text_pair") is not None
        return paired and not self.format.separate

    @property
    def comparable(self) -> bool:
        """Whether a row's texts can be encoded apart and compared."""
        return self.pairs or self.format.compared

    def build(self, encoder: keras.Model) -> keras.Model:
        """Builds the model on ids."""
        return self.fine_tuning.build(encoder, self.labels, self.apart)

    def data_set(
        self, rows: Any, preprocessor: Preprocessor, **batching: Any
    ) -> tf.data.Dataset:
        """Makes the task's data set for `fit`."""
        make = self.task.data_set
        assert make is not None  # of every task that is fine-tuned
        options = self.fine_tuning.data_options(self.pairs, self.apart)
        if any(prompts := self.prompt_names(preprocessor)):
            options["prompts"] = prompts
        return make(rows, preprocessor, **self.labels, **options, **batching)

    def string_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        """Returns the model that takes strings, as it is saved."""
        model = self.fine_tuning.answering(model)
        options = {**self.fine_tuning.answer_options(model), **options}
        if any(self.prompt_names(preprocessor)):
            options[PROMPT] = True
        return with_text(model, preprocessor, pairs=self.pairs, **options)

    def scored_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        """Returns the model whose answers are scored: of words, where rows are."""
        options = {**self.fine_tuning.scored_options, **options}
        return self.string_model(model, preprocessor, **options)

    def baselines(self, train: Rows, test: Rows) -> dict[str, Scores]:
        """Returns the scores of the task's simple models, by name.

        Where one has several forms, the best on the test rows counts.
        """

        def scores(answers: Answers) -> Scores:
            return self.scorer.scores(test, answers, self.labels) if answers else {}

        def score(answers: Answers) -> float:
            return scores(answers)[self.metric]

        return {
            name: scores(answer(train, test, self.labels, score))
            for name, answer in self.fine_tuning.baselines.items()
        }

    @property
    def text_names(self) -> list[str]:
        """The own names of the texts that rows have."""
        return [x for x in self.format.texts if self.columns.get(x) is not None]

    def prompt_names(self, preprocessor: Preprocessor) -> list[str]:
        """Returns the name of the prompt that each text of a row begins with.

        It is empty for the default one.
        """
        names = self.fine_tuning.prompts or [()] * len(self.text_names)
        return [preprocessor.prompt_for(x) for x in names]

    def texts(self, rows: Rows) -> dict[str, list[Any]]:
        """Returns the texts of rows as models take them."""
        return {
            argument: [row[name] for row in rows]
            for argument, name in self.task.inputs.items()
            if self.columns.get(name) is not None
        }

    def answer(self, model: TextModel, rows: Rows, batch_size: int = 64) -> Answers:
        """Answers rows, in their order, in batches of similar length.

        Args:
            model: The model.
            rows: The rows.
            batch_size: How many texts, or pairs of texts, are encoded at once.

        Returns:
            Arrays `(N, ...)` by name, or `(N, C, ...)` if a row has C texts that are
            always encoded by themselves.

        Raises:
            NotFinite: If an answer is NaN or infinite.
        """
        if self.format.separate:
            return self._answer_texts(model, rows, batch_size)
        most = max(map(self.format.num_sequences, rows), default=1)
        lengths = [self.format.length(row) for row in rows]
        return answers_to(model, self.texts(rows), lengths, max(1, batch_size // most))

    def _answer_texts(self, model: TextModel, rows: Rows, batch_size: int) -> Answers:
        names = self.text_names
        prompts = self.prompt_names(preprocessor_of(model))
        both = [*zip(names, prompts, strict=True)]
        every = [(row[name], prompt) for row in rows for name, prompt in both]
        distinct = {text: i for i, text in enumerate(dict.fromkeys(every))}
        texts = [text for text, _ in distinct]
        inputs = {"text": texts}
        if PROMPT in model.input:
            inputs[PROMPT] = [prompt for _, prompt in distinct]
        lengths = [*map(len, texts)]
        answers = answers_to(model, inputs, lengths, batch_size)
        places = np.reshape([distinct[x] for x in every], (len(rows), -1))
        return {name: value[places] for name, value in answers.items()}


def labels_of(model: keras.Model, task: Task) -> Labels:
    """Returns the labels of a model, by the builder's argument."""
    assert task.fine_tuning is not None
    arguments = task.fine_tuning.rows.label_arguments
    return dict(zip(arguments, labels_by_output(model).values(), strict=True))


def named_columns(task: Task, columns: Mapping[str, str | None] | None) -> Columns:
    """Returns the columns that a user named, if the task reads them.

    Raises:
        ValueError: If it does not, or needs a column that is `None`.
    """
    assert task.fine_tuning is not None
    named = dict(columns or {})
    task.fine_tuning.rows.check_columns(task.name, named)
    return named
