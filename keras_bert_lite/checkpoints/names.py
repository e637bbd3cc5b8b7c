"""Names of tensors in a checkpoint, by our layers: one table for both directions.

A path may name alternatives, `"prediction_bias|prediction_dense"`, of which a
model has one.

A table maps the name that a module has in the checkpoint to the path of a layer
of ours, such as `"encoder.layer.{i}.output.dense": "blocks.{i}.output_dense"`,
for every `{i}` there is. Which tensors a layer has, and how they are laid out,
follows from its type and from the format. What a model does not have (a pooler,
a segment table) is passed over, so one table serves every configuration.

Where a tensor is not one of a layer's own, a table maps its whole name to a `Fused`.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

from keras_bert_lite.layers import VocabularyBias
from keras_bert_lite.layers.normalization import LayerNorm
from keras_bert_lite.models.encoder import encoder_layers, encoder_of
from keras_bert_lite.models.tasks.task import head_layers

# For each type of layer: the checkpoint's name of a tensor -> our variable, and
# how the axes are permuted (each permutation is its own inverse).
Variables = Mapping[type, Mapping[str, tuple[str, tuple[int, ...] | None]]]
TORCH: Variables = {
    keras.layers.Dense: {"weight": ("kernel", (1, 0)), "bias": ("bias", None)},
    keras.layers.Conv1D: {"weight": ("kernel", (2, 1, 0)), "bias": ("bias", None)},
    keras.layers.Embedding: {"weight": ("embeddings", None)},
    LayerNorm: {"weight": ("gamma", None), "bias": ("beta", None)},
    VocabularyBias: {"bias": ("bias", None)},
}
TENSORFLOW: Variables = {
    keras.layers.Dense: {"kernel": ("kernel", None), "bias": ("bias", None)},
    keras.layers.Embedding: {"": ("embeddings", None)},
    LayerNorm: {"gamma": ("gamma", None), "beta": ("beta", None)},
    VocabularyBias: {"": ("bias", None)},
}


@dataclasses.dataclass(frozen=True)
class Target:
    """Where a tensor goes: a variable, and how its stored form differs.

    Args:
        variable: The variable.
        permutation: How the axes are permuted where the tensor is stored.
        shape: The stored shape, of the same numbers in the same order, if
            axes are also joined or split there; `None`: they are not.
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
        """Whether it is stored as the variable is, in rows and columns."""
        same = self.permutation is None and self.shape is None
        return same and len(self.variable.shape) == 2

    def assign(self, value: np.ndarray) -> None:
        """Takes over a tensor as it is stored."""
        value = value.reshape(self._permuted_shape)
        if self.permutation is not None:
            value = value.transpose(self.permutation)
        self.variable.assign(value)

    def assign_rows(self, start: int, rows: np.ndarray) -> None:
        """Takes over some rows of a tensor that is stored as the variable is."""
        rows = keras.ops.convert_to_tensor(rows, self.variable.dtype)
        if keras.backend.backend() == "tensorflow":  # in place, without a copy
            self.variable.value[start : start + len(rows)].assign(rows)
            return
        value = keras.ops.slice_update(self.variable.value, (start, 0), rows)
        self.variable.assign(value)

    def read(self) -> np.ndarray:
        """Returns the variable as it is stored."""
        value = keras.ops.convert_to_numpy(self.variable)
        if self.permutation is not None:
            value = value.transpose(self.permutation)
        return np.ascontiguousarray(value).reshape(self.stored_shape)


@dataclasses.dataclass(frozen=True)
class Fused:
    """What a table says of a tensor that holds several variables, one after another.

    Of one variable, it says where a tensor goes whose name is not its layer's.

    Args:
        variables: Their paths, such as `"blocks.{i}.attention.query.kernel"`.
        by_head: Whether the tensor holds the first head's part of each, then the
            second head's (DeBERTa's `in_proj`), or each whole (ModernBERT's `Wqkv`).
    """

    variables: tuple[str, ...]
    by_head: bool = False


@dataclasses.dataclass(frozen=True)
class FusedTarget:
    """Where a tensor of several variables goes.

    It is stored as `(G, K, ...)`, joined along its first axis: of each of G groups
    (heads, or one) the part of each of K variables.

    Args:
        parts: The variables, all of one shape.
        groups: G, which divides the variables' first axis as it is stored.
    """

    parts: tuple[Target, ...]
    groups: int = 1

    @property
    def variables(self) -> tuple[keras.Variable, ...]:
        return tuple(part.variable for part in self.parts)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        first, *rest = self.parts[0].stored_shape
        return (first * len(self.parts), *rest)

    def assign(self, value: np.ndarray) -> None:
        """Takes over a tensor as it is stored."""
        first, *rest = self.parts[0].stored_shape
        grouped = value.reshape(
            self.groups, len(self.parts), first // self.groups, *rest
        )
        for i, part in enumerate(self.parts):
            part.assign(grouped[:, i].reshape(part.stored_shape))

    def read(self) -> np.ndarray:
        """Returns the variables as they are stored."""
        first, *rest = self.parts[0].stored_shape
        values = [
            part.read().reshape(self.groups, first // self.groups, *rest)
            for part in self.parts
        ]
        return np.stack(values, axis=1).reshape(self.stored_shape)


AnyTarget = Target | FusedTarget
Names = Mapping[str, "str | Fused"]


def model_parts(model: keras.Model) -> dict[str, Any]:
    """Returns the layers that hold a model's weights, by the names in tables."""
    embeddings, blocks, pooler = encoder_layers(encoder_of(model))
    parts: dict[str, Any] = {
        "embeddings": embeddings,
        "encoder": blocks,
        "blocks": blocks.blocks,
        "pooler": pooler,
    }
    return parts | head_layers(model)


def targets(
    table: Names,
    parts: Mapping[str, Any],
    variables: Variables = TORCH,
    separator: str = ".",
) -> dict[str, AnyTarget]:
    """Returns the target of each tensor that a table names, by its name."""
    found: dict[str, AnyTarget] = {}
    for name, row in table.items():
        if isinstance(row, Fused):
            found |= _fused(name, row, parts, variables)
    alternatives = [
        (module, path)
        for module, paths in table.items()
        if isinstance(paths, str)
        for path in paths.split("|")
    ]
    for module, path in alternatives:
        for name, layer in _layers(module, path, parts):
            for suffix, (attribute, permutation) in _tensors(layer, variables):
                variable = getattr(layer, attribute)
                if variable is not None:
                    full = name + separator + suffix if suffix else name
                    found[full] = Target(variable, permutation)
    return found


def _fused(
    name: str, row: Fused, parts: Mapping[str, Any], variables: Variables
) -> dict[str, AnyTarget]:
    found: dict[str, list[Target]] = {}
    for path in row.variables:
        owner, _, attribute = path.rpartition(".")
        for tensor, layer in _layers(name, owner, parts):
            variable = getattr(layer, attribute)
            if variable is not None:
                permutations = {
                    a: order for _, (a, order) in _tensors(layer, variables)
                }
                target = Target(variable, permutations[attribute])
                found.setdefault(tensor, []).append(target)
    groups = parts["encoder"].config.num_heads if row.by_head else 1
    return {tensor: FusedTarget(tuple(x), groups) for tensor, x in found.items()}


def _layers(
    module: str, path: str, parts: Mapping[str, Any]
) -> Iterator[tuple[str, keras.layers.Layer]]:
    count = len(parts["blocks"]) if "{i}" in path else 1
    for i in range(count):
        first, *others = path.replace("{i}", str(i)).split(".")
        layer = parts.get(first)
        for name in others:
            if layer is None:
                break
            layer = layer[int(name)] if name.isdigit() else getattr(layer, name, None)
        if layer is not None:
            yield module.replace("{i}", str(i)), layer


def _tensors(layer: keras.layers.Layer, variables: Variables) -> Any:
    for kind, tensors in variables.items():
        if isinstance(layer, kind):
            return tensors.items()
    raise TypeError(f"No tensors are known for {layer!r}.")
