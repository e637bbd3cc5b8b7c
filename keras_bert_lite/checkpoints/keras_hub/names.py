"""The names of the variables in KerasHub's models. See `core.name_table`.

The names are the variables' paths. KerasHub's attention projections have separate
axes for the heads and the head size, `(H, N, D)` and `(N, D, H)`. Here these two
axes are merged, which gives matrices.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from keras_bert_lite.checkpoints.core.name_table import (
    Target,
    Variables,
    VariableTarget,
    model_parts,
    targets,
)
from keras_bert_lite.checkpoints.core.tensors import TensorSource, as_float32
from keras_bert_lite.layers import VocabularyBias
from keras_bert_lite.layers.layer_norm import LayerNorm

VARIABLES: Variables = {
    keras.layers.Dense: {"kernel": ("kernel", None), "bias": ("bias", None)},
    keras.layers.Embedding: {"": ("embeddings", None)},
    LayerNorm: {"gamma": ("gamma", None), "beta": ("beta", None)},
    VocabularyBias: {"": ("bias", None)},
}
POSITIONS = "embeddings.position_embedding"


def _block(name: str) -> dict[str, str]:
    attention, fed = f"{name}/self_attention_layer", "blocks.{i}.feed_forward"
    return {
        f"{attention}/query": "blocks.{i}.attention.query",
        f"{attention}/key": "blocks.{i}.attention.key",
        f"{attention}/value": "blocks.{i}.attention.value",
        f"{attention}/attention_output": "blocks.{i}.attention.output_dense",
        f"{name}/self_attention_layer_norm": "blocks.{i}.attention_norm",
        f"{name}/feedforward_intermediate_dense": f"{fed}.intermediate_dense",
        f"{name}/feedforward_output_dense": f"{fed}.output_dense",
        f"{name}/feedforward_layer_norm": "blocks.{i}.output_norm",
    }


def _tables(prefix: str) -> dict[str, str]:
    return {
        f"{prefix}token_embedding/embeddings": "embeddings.token_embedding",
        f"{prefix}position_embedding/embeddings": POSITIONS,
    }


NORM = {"embeddings_layer_norm": "embeddings.layer_norm"}
BERT = {
    **_tables(""),
    "segment_embedding/embeddings": "embeddings.segment_embedding",
    **NORM,
    **_block("transformer_layer_{i}"),
    "pooled_dense": "pooler.dense",
}
ROBERTA = {**_tables("embeddings/"), **NORM, **_block("transformer_layer_{i}")}
DISTILBERT = {
    **_tables("token_and_position_embedding/"),
    **NORM,
    **_block("transformer_layer_{i}"),
}
ALBERT = {
    **{name: path for name, path in BERT.items() if "{i}" not in name},
    "embedding_projection": "encoder.projection",
    **_block("group_{i}_inner_layer_0"),
}
ELECTRA = {**BERT, "embeddings_projection": "encoder.projection"}
DEBERTA = {
    "token_embedding/embeddings": "embeddings.token_embedding",
    **NORM,
    "rel_embedding/rel_embedding": "encoder.relative_table.embedding",
    "rel_embedding/rel_embeddings_layer_norm": "encoder.relative_table.layer_norm",
    **_block("disentangled_attention_encoder_layer_{i}"),
}
PLAIN_HEAD = {"logits": "head.dense"}
HIDDEN_HEAD = {"pooled_dense": "head.hidden_dense", **PLAIN_HEAD}
MASKED_LM_HEAD = {
    "mlm_head/intermediate_dense": "prediction_transform.dense",
    "mlm_head/intermediate_layer_norm": "prediction_transform.layer_norm",
    "mlm_head/output_bias": "prediction_bias",
}


class VariableSource(TensorSource):
    """The variables of a model as a `TensorSource`, in stored layout."""

    def __init__(self, location: Any, found: Mapping[str, Target]) -> None:
        super().__init__(location)
        self._found = found

    def names(self) -> list[str]:
        return list(self._found)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._found[name].stored_shape

    def dtype(self, name: str) -> str:
        dtype = keras.backend.standardize_dtype(self._found[name].variables[0].dtype)
        return _DTYPES.get(dtype, dtype)

    def read(self, name: str) -> np.ndarray:
        return as_float32(self._found[name].read(), name, self.location)


_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}


@dataclasses.dataclass(frozen=True)
class _PositionRows(VariableTarget):
    """RoBERTa's position table in KerasHub's layout, which starts at row `first`.

    KerasHub has no segment table: the vector of the only segment is added to every
    position. In the other direction, the segment and the rows before `first` are
    set to zeros.
    """

    first: int = 0
    segment: keras.Variable | None = None

    @property
    def stored_shape(self) -> tuple[int, ...]:
        rows, width = self.variable.shape
        return rows - self.first, width

    @property
    def is_table(self) -> bool:
        return False  # `assign` adds rows before the stored ones

    def assign(self, value: np.ndarray) -> None:
        self.variable.assign(np.pad(value, ((self.first, 0), (0, 0))))
        if self.segment is not None:
            self.segment.assign(keras.ops.zeros(self.segment.shape))

    def read(self) -> np.ndarray:
        rows = keras.ops.convert_to_numpy(self.variable)[self.first :]
        if self.segment is None:
            return rows
        return rows + keras.ops.convert_to_numpy(self.segment)


def our_targets(table: Mapping[str, str], model: keras.Model) -> dict[str, Target]:
    """Returns the targets of our model's variables, by KerasHub's names."""
    found = targets(table, model_parts(model), VARIABLES, separator="/")
    embeddings = model_parts(model)["embeddings"]
    segments = embeddings.segment_embedding
    one_segment = None
    if segments is not None and "embeddings.segment_embedding" not in table.values():
        one_segment = segments.embeddings
    for name, path in table.items():
        if path == POSITIONS:
            (variable,) = found[name].variables
            found[name] = _PositionRows(
                variable,
                first=embeddings.position_offset,
                segment=one_segment,
            )
    return found


def hub_targets(model: keras.Model) -> dict[str, Target]:
    """Returns the targets of a KerasHub model's variables, by name."""
    return {x.path: VariableTarget(x, shape=_matrix_shape(x)) for x in model.weights}


def _matrix_shape(variable: keras.Variable) -> tuple[int, ...]:
    """Returns the shape with the axes of heads and head size merged."""
    shape = tuple(variable.shape)
    if len(shape) == 3:
        if "/attention_output/" in variable.path:
            return math.prod(shape[:2]), shape[2]
        return shape[0], math.prod(shape[1:])
    return (math.prod(shape),) if variable.path.endswith("/bias") else shape
