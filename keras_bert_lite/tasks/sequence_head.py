"""Heads on a vector of the whole sequence."""

from collections.abc import Mapping
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite.checks import check_bool, check_choice
from keras_bert_lite.config import POOLINGS, EncoderConfig
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.models.encoder_model import config_of, id_inputs, without_pooler
from keras_bert_lite.tasks.task import Task, task_model

LATE = "late"  # a pooling of logits, not of vectors


def default_pooling(
    encoder: keras.Model, form: dict[str, Any] | None, pooling: str | None
) -> str | None:
    """Returns the pooling of a head for which none was chosen.

    It is the family's way (`None`), or `"mean"` if the head needs a `pooled_output`
    and the encoder has none, as encoders that were trained for sentences.
    """
    config = config_of(encoder)
    chosen = FAMILIES[config.family].head_form if form is None else form
    needed = pooling is None and not chosen.get("hidden_activation")
    return "mean" if needed and config.pooling is None else pooling


def head_arguments(
    encoder: keras.Model,
    dropout: float | None,
    form: Mapping[str, Any] | None = None,
    pooling: str | None = None,
) -> dict[str, Any]:
    """Returns the constructor arguments of a head on a sequence.

    Args:
        encoder: The head's encoder.
        dropout: Dropout rate; `None` means the encoder's.
        form: The head's hidden layer, see `families.Family`; `None` means the
            family's.
        pooling: A pooling of `layers.Pooler`; `None` means the family's way.

    """
    check_choice("pooling", pooling, (*POOLINGS, LATE, None))
    config = config_of(encoder)
    form = FAMILIES[config.family].head_form if form is None else form
    return _arguments(config, dropout, form)


def token_head_arguments(
    encoder: keras.Model, dropout: float | None, form: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Returns the constructor arguments of a head on tokens; see `head_arguments`."""
    config = config_of(encoder)
    form = FAMILIES[config.family].token_form if form is None else form
    return _arguments(config, dropout, form)


def _arguments(
    config: EncoderConfig, dropout: float | None, form: Mapping[str, Any]
) -> dict[str, Any]:
    norm = {"epsilon": config.layer_norm_epsilon, "center": config.norms.bias}
    return {
        **form,
        "hidden_norm": norm if form.get("hidden_norm") else None,
        "dropout": config.dropout if dropout is None else dropout,
        "initializer_range": config.initializer_range,
        "name": "head",
    }


def sequence_vector(
    encoder: keras.Model,
    inputs: dict[str, keras.KerasTensor],
    head: layers.DenseHead,
    pooling: str | None = None,
) -> keras.KerasTensor:
    """Returns the input of a head, one vector per row, `(B, H)`."""
    return read_sequence(encoder, inputs, head, pooling)[1]


def read_sequence(
    encoder: keras.Model,
    inputs: dict[str, keras.KerasTensor],
    head: layers.DenseHead,
    pooling: str | None = None,
) -> tuple[keras.KerasTensor, keras.KerasTensor]:
    """Returns the tokens' vectors `(B, S, H)` and the input of a head, `(B, H)`.

    Both come from the same forward pass.
    """
    if pooling is None and head.hidden_activation is None:
        outputs = encoder(inputs)
        return outputs["sequence_output"], outputs["pooled_output"]
    tokens = without_pooler(encoder)(inputs)["sequence_output"]
    if pooling is None:
        pooling = "cls"  # the head has its own dense layer
    pooler = layers.Pooler(pooling, head.initializer_range, name="pooling")
    return tokens, pooler(tokens, padding_mask=inputs["padding_mask"])


def with_head(
    task: Task,
    encoder: keras.Model,
    head: layers.DenseHead,
    pooling: str | None,
    windows: str | None,
    compare: bool,
    name: str,
) -> keras.Model:
    """Builds a model with a head on a sequence's vector, or on several of them.

    Args:
        task: The model's task.
        encoder: The encoder.
        head: The head.
        pooling: See `head_arguments`.
        windows: `"mean"` or `"max"` pools the vectors of a text's windows; the
            inputs then have a window axis, `(B, W, S)`. `None` uses no windows.
        compare: Whether the rows are two texts to compare, `(B, 2, S)`.
        name: Name of the model.

    Raises:
        ValueError: If there are both `windows` and `compare`.
    """
    check_choice("windows", windows, ("mean", "max", None))
    check_bool("compare", compare)
    if pooling == LATE:
        return _late(task, encoder, head, windows is None and not compare, name)
    if windows is not None and compare:
        raise ValueError(
            f"`compare` needs one row per text. Received: windows={windows!r}"
        )
    if compare:
        inputs, rows = grouped_inputs()
        vectors = sequence_vector(encoder, rows, head, pooling)
        vectors = layers.RestoreGroups(name="join_texts")(vectors, inputs["token_ids"])
        vector = layers.CompareTexts(name="compare")(vectors)
        return _model(task, inputs, head, vector, name, pooling=pooling, compare=True)
    if windows is None:
        inputs = id_inputs()
        vector = sequence_vector(encoder, inputs, head, pooling)
        return _model(task, inputs, head, vector, name, pooling=pooling)
    inputs, rows = grouped_inputs()
    vectors = sequence_vector(encoder, rows, head, pooling)
    vectors = layers.RestoreGroups(name="join_windows")(vectors, inputs["token_ids"])
    real = layers.AnyToken(name="has_tokens")(inputs["padding_mask"])
    vector = layers.Pooler(windows, name="window_pooling")(vectors, padding_mask=real)
    return _model(task, inputs, head, vector, name, pooling=pooling, windows=windows)


def _late(
    task: Task, encoder: keras.Model, head: layers.DenseHead, alone: bool, name: str
) -> keras.Model:
    """Builds a model that gives the mean of the real tokens' logits."""
    if not alone:
        raise ValueError(
            "`pooling` must not be 'late' with `windows` or `compare`. Received: 'late'"
        )
    inputs = id_inputs()
    logits = head(without_pooler(encoder)(inputs)["sequence_output"])
    mean = layers.Pooler("mean", name="pooling")
    outputs = {"logits": mean(logits, padding_mask=inputs["padding_mask"])}
    return task_model(task, inputs, outputs, [head], name, pooling=LATE)


def _model(
    task: Task,
    inputs: dict[str, keras.KerasTensor],
    head: layers.DenseHead,
    vector: keras.KerasTensor,
    name: str,
    **options: Any,
) -> keras.Model:
    chosen = {key: value for key, value in options.items() if value is not None}
    return task_model(task, inputs, {"logits": head(vector)}, [head], name, **chosen)


def grouped_inputs() -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns inputs `(B, C, S)`, and the same flattened to `(B C, S)`."""
    inputs = {
        key: keras.Input((None, None), dtype=x.dtype, name=key)
        for key, x in id_inputs().items()
    }
    rows = {
        key: layers.FlattenGroups(name=f"split_{key}")(x) for key, x in inputs.items()
    }
    return inputs, rows
