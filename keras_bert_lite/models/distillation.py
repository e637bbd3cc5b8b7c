"""A student that learns from a teacher, beside its own task."""

from collections.abc import Sequence
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.tasks.registry import task_of
from keras_bert_lite.models.tasks.task import labels_by_output

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
    """Builds the model that trains a student beside its teacher.

    It computes both on the same input, adds a loss for each comparison, and gives
    the student's outputs. Compiled with the student's own losses and trained with
    `fit`, it trains the student, which can be used at any time.

    Where there is one output, nothing is masked and only scores are compared,
    `keras.distillation.Distiller` does the same, given a `KLDivergence()` object.

    Args:
        student: Any model on ids: of `masked_positions_model`, or of a task; or one of
            yours, whose outputs of logits have names that end so.
        teacher: One with the same inputs and, for `LogitDistillation`, the same
            outputs. It is made untrainable.
        comparisons: Layers; see `layers.LogitDistillation`,
            `layers.HiddenStateDistillation` and `layers.AttentionDistillation`. The
            latter two need student and teacher built on
            `with_hidden_states(encoder)`. `None`: soft targets at a temperature of 2,
            times 5. DistilBERT has `HiddenStateDistillation()` too, and the student's
            own loss times 2 beside them.
        name: Name of the model.

    Returns:
        A functional model with the student's inputs and outputs. Its layers
        `"student"` and `"teacher"` are the two, the latter a `layers.Teacher`.

    Raises:
        ValueError: If the inputs differ, there is no output to compare, a model
            does not give what is compared, or `LogitDistillation` is to compare what
            no softmax reads (numbers, labels that do not exclude each other,
            replaced tokens) or other labels. In their place a student can be
            trained on what its teacher predicts.

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
    """What of the encoders is compared; `None`: scores are."""
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
    """A model of the same layers that also gives what its encoder has."""
    given: dict[str, Any] = {}

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = layer(*args, **kwargs)
        if isinstance(outputs, dict) and "sequence_output" in outputs:
            given.update(outputs)
        return outputs

    # The same layers, called once more: `layer.output` would be of any model with
    # this layer.
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
    """Refuses scores that are not of alternatives, or of others than the teacher's."""
    for role, model in ((STUDENT, student), (TEACHER, teacher)):
        task = task_of(model)
        if task is not None and not task.alternatives:
            raise ValueError(
                f"`{role}` must give scores of which a softmax makes probabilities, "
                "for `LogitDistillation`; train the student on what the teacher "
                f"predicts instead. Received: {model.name!r}, of the task {task.name!r}"
            )
    theirs = labels_by_output(teacher)
    for output, labels in labels_by_output(student).items():
        if theirs.get(output, labels) != labels:
            raise ValueError(
                f"`teacher` must have the student's labels, {labels}. "
                f"Received: {theirs[output]}"
            )


def _score_names(student: keras.Model) -> list[str]:
    """The outputs that a softmax reads: all of a task, else those named so."""
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
        if i:  # a layer each, since each adds a loss
            config = comparison.get_config()
            layer = type(comparison).from_config(
                {**config, "name": f"{comparison.name}_{name}"}
            )
        valid = _valid(inputs, outputs[name])
        outputs[name] = layer(outputs[name], theirs[name], valid=valid)


def _valid(
    inputs: dict[str, keras.KerasTensor], logits: keras.KerasTensor
) -> keras.KerasTensor | None:
    """Which scores count: of rows all, of tokens those that are real or masked."""
    if len(logits.shape) < 3:
        return None
    if "masked_positions" in inputs:
        return inputs["masked_positions"] > 0
    return inputs["padding_mask"]
