"""The names of an encoder's variables in SavedModels.

Model Garden's names come from `official/nlp/modeling` in tensorflow/models, from
which TF Hub's BERT encoders are exported. Ours are those of `export_tf_hub`.
"""

import dataclasses
from collections.abc import Mapping

import keras

from keras_bert_lite.checkpoints.core.name_table import (
    Target,
    Variables,
    VariableTarget,
)
from keras_bert_lite.layers.layer_norm import LayerNorm

Names = Mapping[str, str]

VARIABLES: Variables = {
    keras.layers.Dense: {"kernel": ("kernel", None), "bias": ("bias", None)},
    keras.layers.Embedding: {"embeddings": ("embeddings", None)},
    LayerNorm: {"gamma": ("gamma", None), "beta": ("beta", None)},
}
EMBEDDINGS = {
    "token": "embeddings.token_embedding",
    "position": "embeddings.position_embedding",
    "segment": "embeddings.segment_embedding",
    "norm": "embeddings.layer_norm",
    "projection": "encoder.projection",
}
BLOCK = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "attention_output": "attention.output_dense",
    "attention_norm": "attention_norm",
    "intermediate": "feed_forward.intermediate_dense",
    "output": "feed_forward.output_dense",
    "output_norm": "output_norm",
}


@dataclasses.dataclass(frozen=True)
class Layout:
    """How SavedModels of one kind name an encoder's modules.

    Args:
        tables: The names of the embedding modules, by the keys of `EMBEDDINGS`.
        block: The prefix of a block's modules; `{i}` is the block's index.
        modules: The names of a block's modules, by the keys of `BLOCK`.
        pooler: The name of the pooler's dense layer.
        activation: The activation to assume if the graph does not show one.
    """

    tables: Names
    block: str
    modules: Names
    pooler: str
    activation: str

    def names(self, prefix: str) -> dict[str, str]:
        """Returns the name table with a prefix; see `name_table.targets`."""
        table = {name: EMBEDDINGS[word] for word, name in self.tables.items()}
        for word, name in self.modules.items():
            table[f"{self.block}{name}"] = f"blocks.{{i}}.{BLOCK[word]}"
        table[self.pooler] = "pooler.dense"
        return {prefix + name: path for name, path in table.items()}

    def required(self, prefix: str) -> tuple[str, ...]:
        """Returns the name prefixes of variables that must have a target."""
        modules = (*self.tables.values(), self.block.partition("/")[0])
        return tuple(f"{prefix}{module}/" for module in modules)


_MODULES = {
    "query": "self_attention/query",
    "key": "self_attention/key",
    "value": "self_attention/value",
    "attention_output": "self_attention/attention_output",
    "attention_norm": "self_attention_layer_norm",
    "intermediate": "intermediate",
    "output": "output",
    "output_norm": "output_layer_norm",
}
MODEL_GARDEN = Layout(
    tables={
        "token": "word_embeddings",
        "position": "position_embedding",
        "segment": "type_embeddings",
        "norm": "embeddings/layer_norm",
        "projection": "embedding_projection",
    },
    block="transformer/layer_{i}/",
    modules=_MODULES,
    pooler="pooler_transform",
    activation="gelu_tanh",
)
# ALBERT: all layers share one block.
SHARED_MODEL_GARDEN = dataclasses.replace(MODEL_GARDEN, block="transformer/")
OURS = Layout(
    tables={
        word: path.replace(".", "/").replace("encoder/", "blocks/")
        for word, path in EMBEDDINGS.items()
    },
    block="blocks/block_{i}/",
    modules={word: path.replace(".", "/") for word, path in BLOCK.items()},
    pooler="pooler/dense",
    activation="tanh",
)
LAYOUTS = (MODEL_GARDEN, SHARED_MODEL_GARDEN, OURS)


@dataclasses.dataclass(frozen=True)
class HeadsTarget(VariableTarget):
    """A target stored with an axis for the heads: (H, N, D) for (H, H), for example."""

    shape: tuple[int, ...] = ()

    @property
    def stored_shape(self) -> tuple[int, ...]:
        return self.shape

    def assign(self, value) -> None:
        super().assign(value.reshape(self.variable.shape))

    def read(self):
        return super().read().reshape(self.shape)


def with_heads(
    target: Target, name: str, heads: int, stored: tuple[int, ...]
) -> Target:
    """Returns a target that supports an axis of heads, if the variable has one.

    Args:
        target: The target of an attention weight.
        name: The name of the variable.
        heads: The number of heads.
        stored: The stored shape.
    """
    (variable,) = target.variables
    shape = tuple(variable.shape)
    if len(stored) == len(shape):
        return target
    if name.split("/")[-2] == "attention_output":  # (N, D, H)
        split = (heads, shape[0] // heads, *shape[1:])
    else:  # (H, N, D), or (N, D)
        split = (*shape[:-1], heads, shape[-1] // heads)
    return HeadsTarget(variable, shape=split)
