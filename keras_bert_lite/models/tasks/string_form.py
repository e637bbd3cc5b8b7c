"""What stands before and behind a model on ids, in its string-in form."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import keras

from keras_bert_lite.text.preprocessor import ID_DTYPES, Preprocessor
from keras_bert_lite.text.text_layer import TextLayer
from keras_bert_lite.text.window_layer import TextWindows

Tensors = dict[str, Any]
Options = dict[str, Any]
# (the task's answer, model, preprocessor, whether it takes pairs, the answer's
# options) -> inputs, answers
StringForm = Callable[
    [Any, keras.Model, Preprocessor, bool, Options], tuple[Tensors, Tensors]
]


class Answer(TextLayer):
    """The base of layers that turn a model's values into what a client reads.

    Attributes:
        absent: What stands for no number, if not 0, by output.
    """

    absent: ClassVar[Mapping[str, int]] = {}


def plain_form(
    answer: Callable | None,
    model: keras.Model,
    preprocessor: Preprocessor,
    pairs: bool,
    options: Options,
) -> tuple[Tensors, Tensors]:
    """The model's own values for a text, or for a pair."""
    return about_text(model, preprocessor, pairs)


def about_text(
    model: keras.Model, preprocessor: Preprocessor, pairs: bool, windows: bool = False
) -> tuple[Tensors, Tensors]:
    """Returns the inputs and a model's values for a text, or for a pair.

    Args:
        windows: Whether the model reads the windows of a text.
    """
    check_windows(preprocessor, windows)
    inputs = string_inputs(["text", "text_pair"] if pairs else ["text"])
    return inputs, model(preprocessor(inputs))


def over_windows(
    model: keras.Model, preprocessor: Preprocessor, inputs: Tensors
) -> Tensors:
    """Returns a model's values for the windows of texts, and where the windows lie."""
    windows = TextWindows(preprocessor, name="windows")(inputs)
    values = model({name: windows[name] for name in ID_DTYPES})
    return {**{k: x for k, x in windows.items() if k not in ID_DTYPES}, **values}


def string_inputs(names: list[str], shapes: dict[str, tuple] | None = None) -> Tensors:
    """Returns string inputs by name, of a string a row if `shapes` has no other."""
    shapes = shapes or {}
    return {
        name: keras.Input(shapes.get(name, ()), dtype="string", name=name)
        for name in names
    }


def check_windows(preprocessor: Preprocessor, windows: bool) -> None:
    """Refuses windows for a model that takes none, and the reverse."""
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
    model: keras.Model, answer: Callable | None, options: Options
) -> None:
    """Refuses options that the answer does not have: arguments with a default."""
    arguments = inspect.signature(answer).parameters.values() if answer else ()
    known = {x.name for x in arguments if x.default is not x.empty}
    if unknown := set(options) - known:
        raise TypeError(
            f"{model.name!r} answers with {sorted(known) or 'no'} options. "
            f"Received: {sorted(unknown)}"
        )
