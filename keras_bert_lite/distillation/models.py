"""Knowledge distillation from a teacher to a student."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.task import labels_by_output

STUDENT, TEACHER = "student", "teacher"
Comparison = (
    layers.LogitDistillation
    | layers.HiddenStateDistillation
    | layers.AttentionDistillation
)
NEEDS = {
    layers.HiddenStateDistillation: "hidden_states",
    layers.AttentionDistillation: "attentions",
}


def distillation_model(
    student: keras.Model,
    teacher: keras.Model,
    comparisons: Sequence[Comparison] | None = None,
    name: str = "distillation",
) -> keras.Model:
    """Builds a model that trains a student to imitate a teacher.

    The model runs both on the same input, adds a loss for each comparison and
    returns the student's outputs. Compile it with the student's own losses and call
    `fit`; this trains `student` itself.

    For a single output without masking, and with only logits compared,
    `keras.distillation.Distiller` with a `KLDivergence()` object does the same.

    Args:
        student: A model on token ids: a task's model, the result of
            `masked_positions_model`, or your own model whose logits outputs have
            names ending in `logits`.
        teacher: A model with the same inputs and, for `LogitDistillation`, the same
            outputs. It is frozen.
        comparisons: Layers; see `layers.LogitDistillation`,
            `layers.HiddenStateDistillation` and `layers.AttentionDistillation`. The
            last two need a student and a teacher built on
            `with_hidden_states(encoder)`. `None` compares logits at a temperature of
            2 with a weight of 5. DistilBERT adds `HiddenStateDistillation()` and the
            student's own loss with a weight of 2.
        name: Name of the model.

    Returns:
        A functional model with the student's inputs and outputs. Its layers
        `"student"` and `"teacher"` hold the two models; the teacher's is a
        `layers.Teacher`.

    Raises:
        ValueError: If the inputs differ, the models share no logits, or a model does
            not return the compared states. Also if `LogitDistillation` is used with
            outputs that take no softmax (regression, multi-label classification,
            replaced tokens) or with different labels; train such a student on its
            teacher's predictions instead.

    Reference: [Sanh et al., 2019](https://arxiv.org/abs/1910.01108);
    [Jiao et al., 2020](https://arxiv.org/abs/1909.10351).
    """
    comparisons = (
        [layers.LogitDistillation()] if comparisons is None else list(comparisons)
    )
    needs = [_need(x) for x in comparisons]
    _check_inputs(student, teacher)
    wanted = {x for x in needs if x is not None}
    inputs = {
        key: keras.Input(x.shape[1:], dtype=x.dtype, name=key)
        for key, x in student.input.items()
    }
    ours = _with_internals(student, wanted, STUDENT)(inputs)
    theirs = _with_internals(teacher, wanted, TEACHER)
    theirs = layers.Teacher(theirs, name=TEACHER)(inputs)
    outputs = {key: ours[key] for key in student.output}
    for comparison, what in zip(comparisons, needs, strict=True):
        if what is None:
            _check_alternatives(student, teacher)
            names = _score_names(student)
            _compare_scores(comparison, names, inputs, outputs, theirs)
        else:
            first = next(iter(outputs))
            states = (outputs[first], ours[what], theirs[what])
            outputs[first] = comparison(*states, valid=inputs["padding_mask"])
    return keras.Model(inputs, outputs, name=name)


def _need(comparison: Comparison) -> str | None:
    """Returns the encoder output that a comparison needs; `None` for logits."""
    if isinstance(comparison, layers.LogitDistillation):
        return None
    for kind, name in NEEDS.items():
        if isinstance(comparison, kind):
            return name
    kinds = [x.__name__ for x in (layers.LogitDistillation, *NEEDS)]
    raise ValueError(f"`comparisons` must be of {kinds}. Received: {comparison!r}")


def _check_inputs(student: keras.Model, teacher: keras.Model) -> None:
    for role, model in ((STUDENT, student), (TEACHER, teacher)):
        if not isinstance(model.input, dict) or not isinstance(model.output, dict):
            raise ValueError(
                f"`{role}` must be a model on ids with outputs by name. "
                f"Received: {model!r}"
            )
    if student.input.keys() != teacher.input.keys():
        raise ValueError(
            "`teacher` must have the student's inputs, "
            f"{sorted(student.input)}. Received: {sorted(teacher.input)}"
        )


def _with_internals(model: keras.Model, names: set[str], role: str) -> keras.Model:
    """Returns a model with the same layers that also returns encoder states."""
    given: dict[str, Any] = {}

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = layer(*args, **kwargs)
        if isinstance(outputs, dict) and "sequence_output" in outputs:
            given.update(outputs)
        return outputs

    # Call the same layers again: `layer.output` may belong to another model that
    # shares the layer.
    again = keras.models.clone_model(
        model, call_function=call, clone_function=lambda layer: layer
    )
    for name in sorted(names):
        if name not in given:
            raise ValueError(
                f"`{role}` must be built on `with_hidden_states(encoder)` for its "
                f"{name!r} to be compared. Received: {model.name!r} without"
            )
    outputs = {**again.output, **{name: given[name] for name in sorted(names)}}
    return keras.Model(again.input, outputs, name=role)


def _check_alternatives(student: keras.Model, teacher: keras.Model) -> None:
    """Checks that both models score exclusive classes, with the same labels."""
    for role, model in ((STUDENT, student), (TEACHER, teacher)):
        task = task_of(model)
        if task is not None and not task.alternatives:
            raise ValueError(
                f"`{role}` must return logits of a softmax for `LogitDistillation`; "
                "train the student on the teacher's predictions instead. "
                f"Received: {model.name!r}, of the task {task.name!r}"
            )
    theirs = labels_by_output(teacher)
    for output, labels in labels_by_output(student).items():
        if theirs.get(output, labels) != labels:
            raise ValueError(
                f"`teacher` must have the student's labels, {labels}. "
                f"Received: {theirs[output]}"
            )


def _score_names(student: keras.Model) -> list[str]:
    """Returns the logits outputs: all of a task's, else those named `*logits`."""
    task = task_of(student)
    if task is None:
        return [name for name in student.output if name.endswith("logits")]
    return [output.name for output in task.outputs if output.name in student.output]


def _compare_scores(
    comparison: layers.LogitDistillation,
    names: list[str],
    inputs: dict[str, keras.KerasTensor],
    outputs: dict[str, keras.KerasTensor],
    theirs: dict[str, keras.KerasTensor],
) -> None:
    shared = [x for x in names if x in theirs]
    if not shared:
        raise ValueError(
            "`student` and `teacher` must share an output of logits, which "
            "`LogitDistillation` compares. "
            f"Received: {sorted(outputs)} and {sorted(theirs)}"
        )
    for i, name in enumerate(shared):
        if outputs[name].shape != theirs[name].shape:
            raise ValueError(
                f"`teacher` must have the student's shape of {name!r}, "
                f"{outputs[name].shape}. Received: {theirs[name].shape}"
            )
        layer = comparison
        if i:  # one layer per output, since each adds a loss
            config = comparison.get_config()
            layer = type(comparison).from_config(
                {**config, "name": f"{comparison.name}_{name}"}
            )
        valid = _valid(inputs, outputs[name])
        outputs[name] = layer(outputs[name], theirs[name], valid=valid)


def _valid(
    inputs: dict[str, keras.KerasTensor], logits: keras.KerasTensor
) -> keras.KerasTensor | None:
    """Returns the mask of tokens to compare; `None` for logits of whole sequences."""
    if len(logits.shape) < 3:
        return None
    if "masked_positions" in inputs:
        return inputs["masked_positions"] > 0
    return inputs["padding_mask"]
