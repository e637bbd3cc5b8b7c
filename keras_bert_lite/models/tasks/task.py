"""What a task is, and how a model says which one it does.

Each task has a row, a `Task`, in the file of its builder. The builder puts a
`layers.TaskOutput` behind each of the model's outputs, with the name of the row and
the layers of the head; `registry.task_of(model)` finds the row again, whatever the
model has been through: `.keras` files, clones, `with_text`, distillation.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.tasks.string_form import Answer, StringForm, plain_form


@dataclasses.dataclass(frozen=True)
class Output:
    """What a task's models return under one name, and how that is trained.

    Args:
        name: Of the output.
        loss: Name in `training.objectives.LOSSES`; `None`: the loss is the user's
            to choose.
        metrics: Names in `training.objectives.METRICS`.
        weight: Of the loss in the sum of all outputs' losses.
    """

    name: str
    loss: str | None
    metrics: tuple[str, ...] = ()
    weight: float = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """A row.

    Args:
        name: Of the task, as models record it.
        head: The layer that computes the outputs, or the first of them.
        outputs: What models of the task return.
        data_set: Name in `training.objectives.DATA_SETS` of what makes its data
            set; `None`: there is none.
        answer: The layer that turns the outputs into what a client reads; its
            arguments are the options of `with_text`. `None`: the outputs are it.
        string_form: Makes the string inputs and the answers of a model, given
            `answer`, whose options have been checked.
        hugging_face: Suffix of the class in transformers, such as
            `ForTokenClassification`.
        not_saved: Why there is no such class, in words that follow "`model` must
            be"; `None` where there is one.
        alternatives: Whether a softmax over the logits makes probabilities of
            alternatives, as `layers.LogitDistillation` compares.
        answers_ids: Whether the answer needs nothing but `logits`, so that a server
            can give it for ids too.
        classifies: Whether the answer is one of the head's labels for each text,
            with the `scores` of all, as TF Serving's Classify API has it.
    """

    name: str
    head: type[keras.layers.Layer] | None
    outputs: tuple[Output, ...]
    data_set: str | None = None
    answer: type[Answer] | None = None
    string_form: StringForm = plain_form
    hugging_face: str | None = None
    not_saved: str | None = None
    alternatives: bool = False
    answers_ids: bool = False
    classifies: bool = False


def task_model(
    task: Task,
    inputs: Mapping[str, keras.KerasTensor],
    outputs: Mapping[str, keras.KerasTensor],
    head: Sequence[keras.layers.Layer] | Mapping[str, Sequence[keras.layers.Layer]],
    name: str,
    **options: Any,
) -> keras.Model:
    """Makes a functional model that knows its task.

    Args:
        task: The row.
        inputs, outputs: By name.
        head: The layers of the head; by output where there are several.
        name: Name of the model.
        **options: What the outputs record beside; see `layers.TaskOutput`.
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
    """Returns what a builder made, the model or one inside it, and its marks.

    The marks are there by output; there are none if no builder of a task made it.
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
    """Returns what the builder of a model recorded of how it was built."""
    marks = marked_model(model)[1].values()
    return {name: value for mark in marks for name, value in mark.options.items()}


def head_layers(
    model: keras.Model, output: str | None = None
) -> dict[str, keras.layers.Layer]:
    """Returns the layers of a model's head by name, or those of one output."""
    owner, marks = marked_model(model)
    names = [
        name
        for mark in marks.values()
        if output in (None, mark.output_name)
        for name in mark.head
    ]
    return {name: owner.get_layer(name) for name in dict.fromkeys(names)}


def labels_by_output(model: keras.Model) -> dict[str, list[str]]:
    """Returns the labels of those outputs of a model whose heads have them."""
    return {
        output: list(layer.labels)
        for output in marked_model(model)[1]
        for layer in head_layers(model, output).values()
        if getattr(layer, "labels", None)
    }


def labels_of(model: keras.Model, output: str | None = None) -> list[str] | None:
    """Returns the labels of a model's head, or of one output's; `None`: it has none.

    Raises:
        ValueError: If several outputs have labels, and none is named.
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
