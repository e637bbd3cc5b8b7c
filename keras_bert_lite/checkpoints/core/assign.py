"""Assigning the tensors of a checkpoint to a model, with at most one warning."""

import warnings

import keras

from keras_bert_lite.checkpoints.core.name_table import Target, model_parts
from keras_bert_lite.checkpoints.core.tensors import TensorSource, fill
from keras_bert_lite.models.encoder_model import config_of, encoder_of


def fill_model(
    source: TensorSource,
    model: keras.Model,
    found: dict[str, Target],
    required: tuple[str, ...],
    new_pooler: bool = False,
) -> keras.Model:
    """Checks the tensors of a checkpoint and assigns them to a model.

    Args:
        source: The stored tensors.
        model: The model.
        found: The target of each tensor, by its name.
        required: Name prefixes of tensors that must have a target.
        new_pooler: Whether to start the pooler from random weights.

    Returns:
        The model.

    Warns:
        UserWarning: If a pooler starts from random weights, tensors stay
            unused, or some have NaN or infinite values.

    Raises:
        ValueError: See `tensors.fill`.
    """
    new = _without_pooler(model, found) if new_pooler else []
    _draw(model, found)
    filled = fill(source, found, lambda name: not name.startswith(required))
    parts = []
    if new:
        parts.append(f"has no weights for {new}, which start from random weights")
    parts += filled.remarks()
    if parts:
        warnings.warn(f"{source.location} {'; it '.join(parts)}.", stacklevel=4)
    return model


def _draw(model: keras.Model, found: dict[str, Target]) -> None:
    """Initializes the matrices missing in the checkpoint, which must not stay zero."""
    placed = {id(x) for target in found.values() for x in target.variables}
    stddev = config_of(encoder_of(model)).initializer_range
    draw = keras.initializers.TruncatedNormal(stddev=stddev)
    for variable in model.trainable_variables:
        if id(variable) not in placed and len(variable.shape) > 1:
            variable.assign(draw(variable.shape, variable.dtype))


def is_new_pooler(pooling: str | None, stored: str | None) -> bool:
    """Returns whether the requested pooler differs from the stored one."""
    return pooling not in ("checkpoint", None) and pooling != stored


def _without_pooler(model: keras.Model, found: dict[str, Target]) -> list[str]:
    variables = model_parts(model)["pooler"].variables
    own = {id(variable) for variable in variables}
    for name in [name for name, x in found.items() if own & set(map(id, x.variables))]:
        del found[name]
    return [variable.path for variable in variables]
