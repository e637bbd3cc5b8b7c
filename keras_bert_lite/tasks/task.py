"""Descriptions of tasks, and how a model records its own.

Each task is described by a `Task` in its builder's file. The builder appends a
`layers.TaskOutput` to each of the model's outputs, with the task's name and the
layers of the head. `registry.task_of(model)` reads it back, even after the model has
been saved to a `.keras` file, cloned, or passed to `with_text` or distillation.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from keras_bert_lite import layers
from keras_bert_lite.tasks.baselines import Baseline
from keras_bert_lite.tasks.string_form import Answer, StringForm, plain_form
from keras_bert_lite.training.data.row_formats import Labels, RowFormat, Rows
from keras_bert_lite.training.objectives import MetricOf, Objective
from keras_bert_lite.training.scores.scorer import Scorer


@dataclasses.dataclass(frozen=True)
class Output:
    """An output of a task's models.

    Args:
        name: Name of the output.
        objective: How it is trained; `None` leaves the choice to the user.
        metrics: What `fit` shows; each is made for the head.
        weight: Weight of the loss in the total loss.
    """

    name: str
    objective: Objective | None
    metrics: tuple[MetricOf, ...] = ()
    weight: float = 1.0


# The places of each query's best texts, the best first.
Search = Callable[[keras.Model, list[str], list[str]], Sequence[np.ndarray]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FineTuning:
    """What `kbl.finetune`, and what judges its models, know of a task.

    Args:
        rows: What its rows hold.
        build: Builds the model on ids that is trained, from an encoder, the labels by
            the builder's argument, and whether the texts of a row are encoded apart.
        continues: Returns that model, from a checkpoint that is of the task already;
            `None`: of such a checkpoint only the encoder is used.
        answering: Returns the model on ids that answers, from the one that is trained.
        loss: The loss, if the objective leaves it open.
        scorer: Scores answers.
        baselines: Simple models to compare with, by name.
        untrained_baselines: Whether these learn no more from rows than how frequent
            words are, so that they can be compared with any model.
        data_options: Options of the data set, besides columns and labels, by whether
            rows are pairs and whether their texts are encoded apart.
        answer_options: Options of `with_text` for a model on ids.
        scored_options: Further ones, of the model whose answers are scored.
        kept_options: Options of a saved model's answer that count when it is scored.
        epochs, rate: The epochs and the peak rate, as multiples of other tasks'.
        batch_size: Rows of a step, if the task has its own number.
        softened: Whether a linear model is made less sure before all weights are
            trained, unless texts are encoded apart.
        together_from: Rows from which on texts are encoded together, whatever linear
            models say.
        first: Returns the rows that training begins with; `None`: all.
        distinct: Whether no text may occur twice in a batch.
        search: Finds texts for queries: from a model that takes strings, queries and
            texts, returns the places of each query's best texts; `None`: it cannot.
        prompts: The prompt that each text of a row begins with: the first of some names
            that the preprocessor has one of. None: all with the default one.
    """

    rows: RowFormat
    build: Callable[[keras.Model, Labels, bool], keras.Model]
    scorer: Scorer
    continues: Callable[[keras.Model], keras.Model] | None = None
    answering: Callable[[keras.Model], keras.Model] = lambda model: model
    loss: Callable[[], keras.losses.Loss] | None = None
    baselines: Mapping[str, Baseline] = dataclasses.field(default_factory=dict)
    untrained_baselines: bool = False
    data_options: Callable[[bool, bool], dict[str, Any]] = lambda pairs, apart: {}
    answer_options: Callable[[keras.Model], dict[str, Any]] = lambda model: {}
    scored_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    kept_options: tuple[str, ...] = ()
    epochs: int = 1
    rate: float = 1.0
    batch_size: int | None = None
    softened: bool = False
    together_from: int | None = None
    first: Callable[[Rows], Rows] | None = None
    distinct: bool = False
    search: Search | None = None
    prompts: tuple[tuple[str, ...], ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """Describes a task.

    Args:
        name: Name of the task, as recorded in models.
        head: Class of the first layer of the head; `None` if there is no head.
        outputs: The outputs of the task's models.
        data_set: The function that makes its data set; `None` if there is none.
        fine_tuning: How `kbl.finetune` trains and judges it; `None`: it does not.
        other_forms: How, if rows have one of these columns.
        string_inputs: What the inputs of models that take strings are called.
        explained: What `kbl.explain` explains, a key of `visualization.targets`; `None`
            if it explains nothing.
        answer: Layer class that turns the outputs into readable answers; its
            arguments with defaults are the options of `with_text`. `None` returns
            the outputs unchanged.
        input_options: Options of `with_text` that are about the inputs.
        string_form: Function that builds the string inputs and the answers of a
            model from `answer` and checked options.
        hugging_face: Suffix of the class in transformers, such as
            `ForTokenClassification`.
        not_saved: Why transformers has no such class, to complete "`model` must
            be ..."; `None` if it has one.
        alternatives: Whether the classes are mutually exclusive (softmax), as
            `layers.LogitDistillation` requires.
        windowed: Whether a text that is too long is read in several windows.
        answers_ids: Whether the answer needs only `logits`, so that a server can
            also answer requests with token ids.
        classifies: Whether the answer is one of the head's labels per text, with
            all `scores`, as in TF Serving's Classify API.
    """

    name: str
    head: type[keras.layers.Layer] | None
    outputs: tuple[Output, ...]
    data_set: Callable | None = None
    fine_tuning: FineTuning | None = None
    other_forms: Mapping[str, FineTuning] = dataclasses.field(default_factory=dict)
    string_inputs: tuple[str, ...] = ("text", "text_pair")
    explained: str | None = None
    answer: type[Answer] | None = None
    input_options: tuple[str, ...] = ()
    string_form: StringForm = plain_form
    hugging_face: str | None = None
    not_saved: str | None = None
    alternatives: bool = False
    windowed: bool = False
    answers_ids: bool = False
    classifies: bool = False

    @property
    def columns(self) -> Mapping[str, str | None]:
        """The names of its rows' columns; see `RowFormat`."""
        return self.fine_tuning.rows.columns if self.fine_tuning else {}

    @property
    def inputs(self) -> dict[str, str]:
        """What the strings of a model are called, and which column they are."""
        names = self.fine_tuning.rows.texts if self.fine_tuning else ()
        return dict(zip(self.string_inputs, names, strict=False))


def task_model(
    task: Task,
    inputs: Mapping[str, keras.KerasTensor],
    outputs: Mapping[str, keras.KerasTensor],
    head: Sequence[keras.layers.Layer] | Mapping[str, Sequence[keras.layers.Layer]],
    name: str,
    **options: Any,
) -> keras.Model:
    """Builds a functional model that records its task.

    Args:
        task: The task.
        inputs, outputs: Tensors by name.
        head: The layers of the head, or a dictionary of them by output.
        name: Name of the model.
        **options: Further values to record; see `layers.TaskOutput`.
    """
    marked = {}
    for output, x in outputs.items():
        own = head[output] if isinstance(head, Mapping) else head
        mark = layers.TaskOutput(task.name, output, [y.name for y in own], options)
        marked[output] = mark(x)
    return keras.Model(dict(inputs), marked, name=name)


def marked_model(
    model: keras.Model,
) -> tuple[keras.Model, dict[str, layers.TaskOutput]]:
    """Returns the task's model, possibly inside the given one, and its marks.

    The marks are `layers.TaskOutput` layers by output name; the dictionary is empty
    if the model was not made by a task's builder.
    """
    marks = {x.output_name: x for x in model.layers if isinstance(x, layers.TaskOutput)}
    if marks:
        order = model.output if isinstance(model.output, dict) else marks
        return model, {name: marks[name] for name in order if name in marks}
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found = marked_model(layer)
            if found[1]:
                return found
    return model, {}


def options_of(model: keras.Model) -> dict[str, Any]:
    """Returns the options that a model's builder recorded."""
    marks = marked_model(model)[1].values()
    return {name: value for mark in marks for name, value in mark.options.items()}


def head_layers(
    model: keras.Model, output: str | None = None
) -> dict[str, keras.layers.Layer]:
    """Returns the layers of a model's head by name; with `output`, only its own."""
    owner, marks = marked_model(model)
    names = [
        name
        for mark in marks.values()
        if output in (None, mark.output_name)
        for name in mark.head
    ]
    return {name: owner.get_layer(name) for name in dict.fromkeys(names)}


def labels_by_output(model: keras.Model) -> dict[str, list[str]]:
    """Returns the labels of each of a model's outputs that has some."""
    return {
        output: list(layer.labels)
        for output in marked_model(model)[1]
        for layer in head_layers(model, output).values()
        if getattr(layer, "labels", None)
    }


def labels_of(model: keras.Model, output: str | None = None) -> list[str] | None:
    """Returns the labels of a model or of one output; `None` if there are none.

    Raises:
        ValueError: If several outputs have labels and `output` is `None`.
    """
    found = labels_by_output(model)
    if output is not None:
        return found.get(output)
    if len(found) > 1:
        raise ValueError(
            f"`output` must name one of the model's outputs with labels, "
            f"{sorted(found)}. Received: {output!r}"
        )
    return next(iter(found.values()), None)
