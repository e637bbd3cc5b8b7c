"""Tables that map tensor names to our layers, for both loading and saving.

A table maps the name of a module in the checkpoint to the path of our layer, such
as `"encoder.layer.{i}.output.dense": "blocks.{i}.output_dense"`, for every block
`{i}`. The layer's type and the format determine which tensors the layer has and
how they are laid out. Layers that a model lacks (a pooler, a segment table) are
skipped, so one table serves every configuration.

Three kinds of rows are special:

- `"prediction_bias|prediction_dense"` names alternatives; a model has one of them;
- the path of a variable, as in `"q_bias": "blocks.{i}.attention.query.bias"`,
  matches a single tensor, and the key is its full name;
- `Fused` describes a tensor that holds several variables.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert_lite.layers import VocabularyBias
from keras_bert_lite.layers.layer_norm import LayerNorm
from keras_bert_lite.models.encoder_model import config_of, encoder_layers, encoder_of
from keras_bert_lite.tasks.task import head_layers

# For each layer type: tensor name in the checkpoint -> our variable and the
# permutation of its axes (each permutation is its own inverse).
Variables = Mapping[type, Mapping[str, tuple[str, tuple[int, ...] | None]]]
TORCH: Variables = {
    keras.layers.Dense: {"weight": ("kernel", (1, 0)), "bias": ("bias", None)},
    keras.layers.Conv1D: {"weight": ("kernel", (2, 1, 0)), "bias": ("bias", None)},
    keras.layers.Embedding: {"weight": ("embeddings", None)},
    LayerNorm: {"weight": ("gamma", None), "bias": ("beta", None)},
    keras.layers.RMSNormalization: {"weight": ("scale", None)},
    VocabularyBias: {"bias": ("bias", None)},
    keras.layers.Identity: {},
}
TENSORFLOW: Variables = {
    keras.layers.Dense: {"kernel": ("kernel", None), "bias": ("bias", None)},
    keras.layers.Embedding: {"": ("embeddings", None)},
    LayerNorm: {"gamma": ("gamma", None), "beta": ("beta", None)},
    VocabularyBias: {"": ("bias", None)},
}


@dataclasses.dataclass(frozen=True)
class Fused:
    """A row for one stored tensor that holds several variables.

    The variables split its first axis equally: either one after the other, as in
    ModernBERT's `Wqkv`, or interleaved by attention head, as in DeBERTa's `in_proj`.

    Args:
        paths: Paths of the variables, such as
            `"blocks.{i}.attention.query.kernel"`, in stored order.
        by_head: Whether the variables are interleaved by attention head. The
            encoder's `num_heads` gives the number of heads.
    """

    paths: tuple[str, ...]
    by_head: bool = False


Table = Mapping[str, str | Fused]


class Target:
    """The variables that a tensor is assigned to, and its stored layout."""

    @property
    def variables(self) -> tuple[keras.Variable, ...]:
        """The variables that the tensor holds."""
        raise NotImplementedError

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the tensor in the checkpoint."""
        raise NotImplementedError

    @property
    def is_table(self) -> bool:
        """Whether the tensor is one matrix, stored in the layout of its variable."""
        return False

    def assign(self, value: np.ndarray) -> None:
        """Assigns a tensor in its stored layout."""
        raise NotImplementedError

    def assign_rows(self, start: int, rows: np.ndarray) -> None:
        """Assigns some rows of a tensor for which `is_table` is true."""
        raise NotImplementedError

    def read(self) -> np.ndarray:
        """Returns the tensor in its stored layout."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class VariableTarget(Target):
    """One variable, and how its stored layout differs.

    Args:
        variable: The variable.
        permutation: The permutation of the axes in the stored tensor.
        shape: The stored shape, if the format also merges or splits axes (the
            order of the values stays the same); `None` if it does not.
    """

    variable: keras.Variable
    permutation: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None

    @property
    def variables(self) -> tuple[keras.Variable, ...]:
        return (self.variable,)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        return self._permuted_shape if self.shape is None else self.shape

    @property
    def _permuted_shape(self) -> tuple[int, ...]:
        shape = tuple(self.variable.shape)
        if self.permutation is None:
            return shape
        return tuple(shape[axis] for axis in self.permutation)

    @property
    def is_table(self) -> bool:
        same = self.permutation is None and self.shape is None
        return same and len(self.variable.shape) == 2

    def assign(self, value: np.ndarray) -> None:
        value = value.reshape(self._permuted_shape)
        if self.permutation is not None:
            value = value.transpose(self.permutation)
        self.variable.assign(value)

    def assign_rows(self, start: int, rows: np.ndarray) -> None:
        rows = keras.ops.convert_to_tensor(rows, self.variable.dtype)
        if keras.backend.backend() == "tensorflow":  # in place, without a copy
            self.variable.value[start : start + len(rows)].assign(rows)
            return
        value = keras.ops.slice_update(self.variable.value, (start, 0), rows)
        self.variable.assign(value)

    def read(self) -> np.ndarray:
        value = keras.ops.convert_to_numpy(self.variable)
        if self.permutation is not None:
            value = value.transpose(self.permutation)
        return np.ascontiguousarray(value).reshape(self.stored_shape)


@dataclasses.dataclass(frozen=True)
class FusedTarget(Target):
    """Several variables of equal stored shape in one tensor.

    Args:
        parts: The targets of the variables, as if each were stored alone.
        groups: The number of equal groups into which the first axis of each part
            is cut. The first groups of all parts come before the second ones.

    Raises:
        ValueError: If the parts differ in shape, or `groups` does not divide their
            first axis.
    """

    parts: tuple[Target, ...]
    groups: int = 1

    def __post_init__(self) -> None:
        shapes = [part.stored_shape for part in self.parts]
        if len(set(shapes)) != 1 or not shapes[0] or shapes[0][0] % self.groups:
            raise ValueError(
                "The variables in one tensor must have the same shape, with a first "
                f"axis divisible by {self.groups}. Received: {shapes}"
            )

    @property
    def variables(self) -> tuple[keras.Variable, ...]:
        return tuple(x for part in self.parts for x in part.variables)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        rows, *others = self.parts[0].stored_shape
        return len(self.parts) * rows, *others

    def assign(self, value: np.ndarray) -> None:
        rows, *others = self.parts[0].stored_shape
        shape = (self.groups, len(self.parts), rows // self.groups, *others)
        value = value.reshape(shape)
        for i, part in enumerate(self.parts):
            part.assign(value[:, i].reshape(part.stored_shape))

    def read(self) -> np.ndarray:
        rows, *others = self.parts[0].stored_shape
        shape = (self.groups, rows // self.groups, *others)
        values = [part.read().reshape(shape) for part in self.parts]
        return np.stack(values, axis=1).reshape(self.stored_shape)


def model_parts(model: keras.Model) -> dict[str, Any]:
    """Returns the layers that hold a model's weights, by their names in tables.

    The result also has `"num_heads"`, which is needed to split fused tensors.
    """
    body = encoder_of(model)
    embeddings, blocks, pooler = encoder_layers(body)
    parts: dict[str, Any] = {
        "embeddings": embeddings,
        "encoder": blocks,
        "blocks": blocks.blocks,
        "pooler": pooler,
        "num_heads": config_of(body).num_heads,
    }
    return parts | head_layers(model)


def targets(
    table: Table,
    parts: Mapping[str, Any],
    variables: Variables = TORCH,
    separator: str = ".",
) -> dict[str, Target]:
    """Returns the target of each tensor in a table, by the tensor's name.

    Raises:
        TypeError: If the layout of a layer or variable is unknown.
        ValueError: If a model has only some of the variables of a `Fused` row, or
            they do not fit into one tensor.
    """
    found: dict[str, Target] = {}
    for row_name, row in table.items():
        paths = row.paths if isinstance(row, Fused) else row.split("|")
        count = len(parts["blocks"]) if "{i}" in paths[0] else 1
        for i in range(count):
            name = row_name.replace("{i}", str(i))
            numbered = [path.replace("{i}", str(i)) for path in paths]
            if isinstance(row, Fused):
                groups = parts["num_heads"] if row.by_head else 1
                found |= _fused(name, numbered, groups, parts, variables)
                continue
            for path in numbered:
                for suffix, target in _tensors(path, parts, variables):
                    found[name + separator + suffix if suffix else name] = target
    return found


def _fused(
    name: str,
    paths: list[str],
    groups: int,
    parts: Mapping[str, Any],
    variables: Variables,
) -> dict[str, Target]:
    """Returns the target of a fused tensor, if the model has its variables."""
    there = [path for path in paths if _at(path, parts) is not None]
    if not there:
        return {}
    if there != paths:
        raise ValueError(
            f"{name!r} holds {paths}: the model must have all of them or none. "
            f"Received: a model with {there}"
        )
    kept = tuple(_variable(path, parts, variables) for path in paths)
    try:
        return {name: FusedTarget(kept, groups)}
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from error


def _tensors(
    path: str, parts: Mapping[str, Any], variables: Variables
) -> Iterator[tuple[str, Target]]:
    """Yields the name suffix and target of each tensor of a layer or variable."""
    found = _at(path, parts)
    if found is None:
        return
    if not isinstance(found, keras.Layer):
        yield "", _variable(path, parts, variables)
        return
    for suffix, (attribute, permutation) in _layout(found, variables).items():
        variable = getattr(found, attribute)
        if variable is not None:
            yield suffix, VariableTarget(variable, permutation)


def _variable(path: str, parts: Mapping[str, Any], variables: Variables) -> Target:
    """Returns the target of a variable, with the layout of its layer's type."""
    owner, _, attribute = path.rpartition(".")
    layer = _at(owner, parts)
    permutations = dict(_layout(layer, variables).values())
    if attribute not in permutations:
        raise TypeError(f"{path!r} is not a stored variable of {layer!r}.")
    return VariableTarget(getattr(layer, attribute), permutations[attribute])


def _at(path: str, parts: Mapping[str, Any]) -> Any:
    """Returns the layer or variable at a path, or `None` if there is none."""
    first, *others = path.split(".")
    found = parts.get(first)
    for name in others:
        if found is None:
            return None
        found = found[int(name)] if name.isdigit() else getattr(found, name, None)
    return found


def _layout(
    layer: keras.Layer, variables: Variables
) -> Mapping[str, tuple[str, tuple[int, ...] | None]]:
    for kind, tensors in variables.items():
        if isinstance(layer, kind):
            return tensors
    raise TypeError(f"The tensors of {layer!r} are unknown.")
