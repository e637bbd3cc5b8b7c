"""String inputs and answers around a model on token ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import keras

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.text.inputs import PROMPT
from keras_bert_lite.text.preprocessor import ID_DTYPES, Preprocessor
from keras_bert_lite.text.text_layer import TextLayer
from keras_bert_lite.text.window_layer import TextWindows

Tensors = dict[str, Any]
Options = dict[str, Any]
# (answer class, model, preprocessor, whether it takes pairs, options of the answer)
# -> inputs, answers
StringForm = Callable[
    [Any, keras.Model, Preprocessor, bool, Options], tuple[Tensors, Tensors]
]


class Answer(TextLayer):
    """Base class of layers that turn a model's outputs into readable answers.

    Attributes:
        absent: Padding value by output name, where it is not 0.
    """

    absent: ClassVar[Mapping[str, float]] = {}

    def check_labels_fit(
        self, labels: Sequence[str], logits: Any, argument: str = "labels"
    ) -> None:
        """Checks that there is one name for each of the logits `(..., L)`.

        Raises:
            ValueError: If there are more or fewer.
        """
        size = logits.shape[-1]
        if size is not None and size != len(labels):
            raise ValueError(
                f"`{argument}` must be one name for each of the {size} logits. "
                f"Received: {len(labels)} names"
            )

    def without_padding(self, row: dict[str, Any]) -> dict[str, Any]:
        """Returns the answers to one row, without what only pads a batch."""
        return row


def plain_form(
    answer: Callable | None,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    """Returns string inputs and the model's own outputs for a text or a pair."""
    return about_text(model, preprocessor, pairs)


def about_text(
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    windows: bool = False,
    prompts: bool = False,
) -> tuple[Tensors, Tensors]:
    """Returns string inputs and a model's outputs for a text or a pair.

    Args:
        model: A model on token ids.
        preprocessor: The preprocessor that makes its inputs.
        pairs: Whether it takes text pairs.
        windows: Whether it takes the windows of a text.
        prompts: Whether it also takes the name of each text's prompt.
    """
    check_windows(preprocessor, windows)
    names = ["text", "text_pair"] if pairs else ["text"]
    inputs = string_inputs([*names, PROMPT] if prompts else names)
    return inputs, model(preprocessor(inputs))


def about_texts_apart(
    model: keras.Model, preprocessor: Preprocessor, choices: bool = False
) -> tuple[Tensors, Tensors]:
    """Returns string inputs and a model's outputs for texts encoded apart.

    Args:
        model: A model on token ids, `(B, 2, S)`, or `(B, 1 + C, S)` for C choices.
        preprocessor: The preprocessor that makes its inputs.
        choices: Whether there are choices.
    """
    check_windows(preprocessor, False)
    shapes: dict[str, tuple] = {"text_pair": (None,)} if choices else {}
    inputs = string_inputs(["text", "text_pair"], shapes)
    return inputs, model(preprocessor(TextsApart(name="texts")(inputs)))


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class TextsApart(TextLayer):
    """Stacks texts that are encoded apart.

    Call arguments:
        inputs: A dictionary of strings: `text`, `(B,)`, and `text_pair`, `(B,)` or,
            of C choices, `(B, C)`.

    Output shape:
        Strings of shape `(B, 2)` or `(B, 1 + C)`.
    """

    def call(self, inputs: Tensors) -> tf.Tensor:
        text, others = inputs["text"][:, None], inputs["text_pair"]
        others = others[:, None] if others.shape.rank == 1 else others
        return tf.concat([text, others], axis=1)

    def compute_output_spec(self, inputs: Tensors) -> keras.KerasTensor:
        batch, *choices = inputs["text_pair"].shape
        number = choices[0] if choices else 1
        shape = (batch, None if number is None else 1 + number)
        return keras.KerasTensor(shape, dtype="string")


def over_windows(
    model: keras.Model, preprocessor: Preprocessor, inputs: Tensors
) -> Tensors:
    """Returns a model's outputs for the windows of texts, and the windows' layout."""
    windows = TextWindows(preprocessor, name="windows")(inputs)
    values = model({name: windows[name] for name in ID_DTYPES})
    return {**{k: x for k, x in windows.items() if k not in ID_DTYPES}, **values}


def about_words(
    model: keras.Model, preprocessor: Preprocessor, split_words: bool
) -> tuple[Tensors, Tensors]:
    """Returns string inputs and a model's outputs for the windows of texts.

    With `split_words` the texts are lists of words `(B, W)`, which are also returned,
    as `given`.
    """
    inputs = string_inputs(["text"], {"text": (None,)} if split_words else {})
    values = over_windows(model, preprocessor, inputs)
    given = {"given": inputs["text"]} if split_words else {}
    return inputs, {**values, **given}


def string_inputs(names: list[str], shapes: dict[str, tuple] | None = None) -> Tensors:
    """Returns string inputs by name, one string per row unless in `shapes`."""
    shapes = shapes or {}
    return {
        name: keras.Input(shapes.get(name, ()), dtype="string", name=name)
        for name in names
    }


def check_windows(preprocessor: Preprocessor, windows: bool) -> None:
    """Checks that the preprocessor has a `stride` if and only if there are windows."""
    if windows == (preprocessor.stride is not None):
        return
    need = (
        "a `stride` for a model with" if windows else "no `stride` for a model without"
    )
    raise ValueError(
        f"`preprocessor` must have {need} `windows`. "
        f"Received: stride={preprocessor.stride}"
    )


def check_options(
    model: keras.Model,
    answer: Callable | None,
    options: Options,
    others: Sequence[str] = (),
) -> None:
    """Checks that options are arguments of the answer with a default, or others."""
    arguments = inspect.signature(answer).parameters.values() if answer else ()
    known = {*others, *(x.name for x in arguments if x.default is not x.empty)}
    if unknown := set(options) - known:
        raise TypeError(
            f"{model.name!r} answers with {sorted(known) or 'no'} options. "
            f"Received: {sorted(unknown)}"
        )
