"""What stands before and behind a model on ids, task by task."""

import inspect
from collections.abc import Callable
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.models.answers.entities import EntityAnswer
from keras_bert_lite.models.answers.fill_mask import MaskAnswer
from keras_bert_lite.models.answers.labels import (
    ChoiceAnswer,
    LabelAnswer,
    LabelSetAnswer,
    NumberAnswer,
)
from keras_bert_lite.models.answers.spans import SpanAnswer
from keras_bert_lite.text.layer import TextLayer
from keras_bert_lite.text.packing import ID_DTYPES, Preprocessor
from keras_bert_lite.text.window_layer import TextWindows

Tensors = dict[str, Any]
Options = dict[str, Any]
SPANS = {"start_logits", "end_logits"}


def string_form(
    model: keras.Model, preprocessor: Preprocessor, pairs: bool, options: dict[str, Any]
) -> tuple[Tensors, Tensors]:
    """Returns the string inputs and the answers of a model's string-in form."""
    outputs = set(model.output)
    head = _head(model)
    if outputs == SPANS:
        return _span_form(model, preprocessor, options)
    if isinstance(head, layers.ClassificationHead) and _labels_tokens(model):
        return _token_form(model, head, preprocessor, options)
    _check_windows(model, preprocessor)
    if outputs == {"prediction_logits"}:
        return _mask_form(model, preprocessor, options)
    if any(layer.name == "join_choices" for layer in model.layers):
        return _choice_form(model, preprocessor, options)
    inputs = _inputs(["text", "text_pair"] if pairs else ["text"])
    values = model(preprocessor(inputs))
    answer = _answer_about_text(model, head, options)
    return inputs, answer(values["logits"]) if answer else values


def _check_windows(model: keras.Model, preprocessor: Preprocessor) -> None:
    """Refuses windows for a model that takes none, and the reverse."""
    takes = any(layer.name == "join_windows" for layer in model.layers)
    if takes == (preprocessor.stride is not None):
        return
    need = "a `stride` for a model with" if takes else "no `stride` for a model without"
    raise ValueError(
        f"`preprocessor` must have {need} `windows`. "
        f"Received: stride={preprocessor.stride}"
    )


def _head(model: keras.Model) -> keras.layers.Layer | None:
    kinds = (layers.ClassificationHead, layers.RegressionHead)
    return next((x for x in model.layers if isinstance(x, kinds)), None)


def _labels_tokens(model: keras.Model) -> bool:
    outputs = model.output
    if "crf_scores" in outputs:
        return True
    return "logits" in outputs and len(outputs["logits"].shape) == 3


def _answer_about_text(
    model: keras.Model, head: Any, options: dict[str, Any]
) -> TextLayer | None:
    """What reads the `logits` of a text; `None` for a model without."""
    if "logits" not in model.output or head is None:
        _checked(model, None, options)
        return None
    if isinstance(head, layers.RegressionHead):
        return NumberAnswer(**_checked(model, NumberAnswer, options), name="answer")
    kind = LabelSetAnswer if head.multi_label else LabelAnswer
    return kind(head.labels, **_checked(model, kind, options), name="answer")


def _span_form(
    model: keras.Model, preprocessor: Preprocessor, options: Options
) -> tuple[Tensors, Tensors]:
    answer = SpanAnswer(**_checked(model, SpanAnswer, options), name="answer")
    inputs = _inputs(["text", "text_pair"])
    places, values = _over_windows(model, preprocessor, inputs)
    return inputs, answer({**places, **values})


def _token_form(
    model: keras.Model,
    head: layers.ClassificationHead,
    preprocessor: Preprocessor,
    options: Options,
) -> tuple[Tensors, Tensors]:
    options = _checked(model, EntityAnswer, options)
    answer = EntityAnswer(head.labels, **options, name="answer")
    shapes = {"text": (None,)} if answer.split_words else {}
    inputs = _inputs(["text"], shapes)
    places, values = _over_windows(model, preprocessor, inputs)
    given = {"given": inputs["text"]} if answer.split_words else {}
    return inputs, answer({**places, **values, **given})


def _over_windows(
    model: keras.Model, preprocessor: Preprocessor, inputs: Tensors
) -> tuple[Tensors, Tensors]:
    """Returns what `TextWindows` says of places, and the model's values."""
    places = TextWindows(preprocessor, name="windows")(inputs)
    values = model({name: places[name] for name in ID_DTYPES})
    return {k: x for k, x in places.items() if k not in ID_DTYPES}, values


def _mask_form(
    model: keras.Model, preprocessor: Preprocessor, options: Options
) -> tuple[Tensors, Tensors]:
    options = _checked(model, MaskAnswer, options)
    answer = MaskAnswer(preprocessor.tokenizer, **options, name="answer")
    inputs = _inputs(["text"])
    ids = preprocessor(inputs)
    return inputs, answer({**model(ids), "token_ids": ids["token_ids"], **inputs})


def _choice_form(
    model: keras.Model, preprocessor: Preprocessor, options: Options
) -> tuple[Tensors, Tensors]:
    answer = ChoiceAnswer(**_checked(model, ChoiceAnswer, options), name="answer")
    inputs = _inputs(["text", "text_pair"], {"text_pair": (None,)})
    values = model(preprocessor(inputs))
    return inputs, answer({**values, "choices": inputs["text_pair"]})


def _inputs(names: list[str], shapes: dict[str, tuple] | None = None) -> Tensors:
    shapes = shapes or {}
    return {
        name: keras.Input(shapes.get(name, ()), dtype="string", name=name)
        for name in names
    }


def _checked(
    model: keras.Model, answer: Callable | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Returns the options if the answer has them."""
    given = {"self", "labels", "tokenizer", "kwargs"}
    known = set(inspect.signature(answer).parameters) - given if answer else set()
    if unknown := set(options) - known:
        raise TypeError(
            f"{model.name!r} answers with {sorted(known) or 'no'} options. "
            f"Received: {sorted(unknown)}"
        )
    return options
