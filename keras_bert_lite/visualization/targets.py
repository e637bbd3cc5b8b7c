"""What is explained: one number among the outputs of a task's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.tasks.intent_and_slots import INTENT, SLOTS
from keras_bert_lite.tasks.registry import TASKS, task_of
from keras_bert_lite.tasks.task import head_layers
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.tasks.text_parts import answer_of
from keras_bert_lite.visualization.reading import Reading

Outputs: TypeAlias = "Mapping[str, tf.Tensor]"
Span = tuple[int, int]
START, END, BOTH = "start", "end", "span"


class Target(NamedTuple):
    """A number among a model's outputs.

    Attributes:
        name: Its name.
        of: Takes it from the outputs for K inputs, `(K,)`.
        span: The characters of the last text that it is about; `None`: all texts.
        row: The only row of the inputs that it depends on; `None`: all rows.
    """

    name: str
    of: Callable[[Outputs], tf.Tensor]
    span: Span | None = None
    row: int | None = None


class Question(NamedTuple):
    """What a target is chosen from.

    Attributes:
        model: The model that takes strings.
        outputs: What the model on ids gives for the example.
        prediction: The model's answer.
        reading: The example.
        target, span: As the user gave them.
    """

    model: TextModel
    outputs: Outputs
    prediction: Mapping[str, Any]
    reading: Reading
    target: str | int | None
    span: Span | None


def choose(question: Question) -> Target:
    """Returns the target of a task: the one asked for, or what the model predicts.

    Raises:
        ValueError: If there is no such target, or the task cannot be explained.
    """
    task = task_of(question.model)
    if task is None or task.explained is None:
        explained = [name for name, x in TASKS.items() if x.explained]
        raise ValueError(
            f"`model` must be of one of the tasks {explained}. "
            f"Received: {task and task.name!r}"
        )
    return TARGETS[task.explained](question)


def _label(question: Question, output: str = "logits") -> Target:
    """A label of the texts; by default the one with the highest logit."""
    if question.span is not None:
        raise ValueError(
            "`span` must be None for an answer about a whole text. "
            f"Received: {question.span!r}"
        )
    labels = _names(question.model, output)
    i = _index(labels, question.target, question.outputs[output][0])
    return Target(str(labels[i]), lambda outputs: outputs[output][:, i])


def _number(question: Question) -> Target:
    """A number of a regression, which has to be named if there are several."""
    names = _names(question.model, "logits")
    if question.target is None and len(names) > 1:
        raise ValueError(
            f"`target` must be one of {names}, the model's numbers. Received: None"
        )
    return _label(question)


def _names(model: TextModel, output: str) -> list[Any]:
    """Returns the names of a head's outputs; their numbers if there are none."""
    (head, *_) = head_layers(model, output).values()
    names = getattr(head, "labels", None) or getattr(head, "names", None)
    return list(names or (["score"] if head.units == 1 else range(head.units)))


def _index(names: Sequence[Any], target: Any, scores: tf.Tensor) -> int:
    if target is None:
        return int(np.argmax(scores))
    if target not in names:
        raise ValueError(f"`target` must be one of {names}. Received: {target!r}")
    return names.index(target)


def _intent_or_slot(question: Question) -> Target:
    """The intent of a text or, with a span, the slot of a word."""
    if question.span is not None:
        return _tag_of(question, SLOTS.name)
    # The first window determines the intent.
    return _label(question, INTENT.name)._replace(row=0)


def _tag(question: Question) -> Target:
    """The tag of a word; by default of the first entity's first word."""
    if question.span is None:
        starts, ends = (question.prediction[f"entity_{x}"] for x in ("starts", "ends"))
        if not len(starts):
            raise ValueError(
                "`span` must say which word to explain, `(start, end)` in characters, "
                "for the model finds no entity. Received: None"
            )
        question = question._replace(span=(int(starts[0]), int(ends[0])))
    (output,) = {"logits", "crf_scores"} & set(question.outputs)
    return _tag_of(question, output)


def _tag_of(question: Question, output: str) -> Target:
    """The logit of a tag at the first word of a span, in its best window."""
    windows = question.reading.windows
    answer: Any = answer_of(question.model)
    answer = getattr(answer, "entity_answer", answer)
    key = output if output == "crf_scores" else "logits"
    words, tags = answer.tags({**windows, key: question.outputs[output]})
    start, end = _checked(question)
    inside = words.mask[0] & (words.starts[0] < end) & (words.ends[0] > start)
    found = np.flatnonzero(inside)
    if not len(found):
        raise ValueError(
            "`span` must hold characters of a word. "
            f"Received: {question.span!r}, {question.reading.texts[-1][start:end]!r}"
        )
    word = found[0]
    kept = windows["most_context"] & tf.gather(windows["firsts"], windows["tokens"])
    places = np.flatnonzero(kept)
    place = places[np.argsort(windows["tokens"].numpy()[places])][word]
    row, column = (int(windows[x][place]) for x in ("windows", "columns"))
    labels = _names(question.model, output)
    given = question.target
    i = int(tags[0, word]) if given is None else _index(labels, given, None)
    span = int(words.starts[0, word]), int(words.ends[0, word])
    return Target(labels[i], lambda outputs: outputs[output][:, column, i], span, row)


def _answer(question: Question) -> Target:
    """The start, the end, or the sum of both, of an answer in a context.

    No answer is the start and the end at the first token, in the window where their
    sum is least.
    """
    target = BOTH if question.target is None else question.target
    if target not in (START, END, BOTH):
        raise ValueError(
            f"`target` must be one of {(START, END, BOTH)}. Received: {target!r}"
        )
    span = question.span
    if span is None and question.prediction["start"] >= 0:
        span = int(question.prediction["start"]), int(question.prediction["end"])
    if span is None:
        outputs = question.outputs
        row = int(
            np.argmin(outputs["start_logits"][:, 0] + outputs["end_logits"][:, 0])
        )
        return Target(target, _span_score(target, 0, 0), None, row)
    row, first, last = _columns(question._replace(span=span))
    return Target(target, _span_score(target, first, last), span, row)


def _columns(question: Question) -> tuple[int, int, int]:
    """Returns the window of a span and the columns of its first and last token."""
    x = {name: value.numpy() for name, value in question.reading.windows.items()}
    start, end = _checked(question)
    inside = np.flatnonzero((x["starts"] < end) & (x["ends"] > start))
    if not len(inside):
        raise ValueError(
            f"`span` must hold characters of a token. Received: {question.span!r}"
        )
    first = np.flatnonzero((x["tokens"] == inside[0]) & x["most_context"])[0]
    row = x["windows"][first]
    last = np.flatnonzero((x["tokens"] == inside[-1]) & (x["windows"] == row))
    if not len(last):
        raise ValueError(
            f"`span` must lie in one window of the context. Received: {question.span!r}"
        )
    return int(row), int(x["columns"][first]), int(x["columns"][last[0]])


def _span_score(target: str, first: int, last: int) -> Callable[[Outputs], tf.Tensor]:
    def of(outputs: Outputs) -> tf.Tensor:
        scores = {
            START: outputs["start_logits"][:, first],
            END: outputs["end_logits"][:, last],
        }
        return sum(scores.values()) if target == BOTH else scores[target]

    return of


def _checked(question: Question) -> Span:
    """Returns the span; refuses one outside the text."""
    size = len(question.reading.texts[-1])
    try:
        start, end = (int(x) for x in question.span or ())
    except (TypeError, ValueError):
        start = end = 0
    if not 0 <= start < end <= size:
        raise ValueError(
            "`span` must be two numbers `(start, end)`, characters of a text of "
            f"{size}, end exclusive. Received: {question.span!r}"
        )
    return start, end


TARGETS: dict[str, Callable[[Question], Target]] = {  # by `Task.explained`
    "label": _label,
    "number": _number,
    "tag": _tag,
    "intent_or_slot": _intent_or_slot,
    "answer": _answer,
}
