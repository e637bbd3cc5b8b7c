"""Loading encoders from SavedModels of Model Garden, TF Hub and this package."""

from pathlib import Path
from typing import Any

import keras
from google.protobuf.message import DecodeError

from keras_bert_lite._tensorflow import trackable_object_graph_pb2
from keras_bert_lite.checkpoints.core.assign import fill_model, is_new_pooler
from keras_bert_lite.checkpoints.core.config_fields import changed
from keras_bert_lite.checkpoints.core.name_table import (
    Target,
    VariableTarget,
    model_parts,
    targets,
)
from keras_bert_lite.checkpoints.core.tensorflow_files import SLOTS, TensorFlowSource
from keras_bert_lite.checkpoints.saved_model.config import encoder_values
from keras_bert_lite.checkpoints.saved_model.graph import FILE, SavedGraph
from keras_bert_lite.checkpoints.saved_model.names import (
    LAYOUTS,
    VARIABLES,
    Layout,
    with_heads,
)
from keras_bert_lite.checkpoints.sources import Source
from keras_bert_lite.checkpoints.tokenizers.loading import (
    load_preprocessor as load_preprocessor,
    load_tokenizer as load_tokenizer,
)
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.models.encoder_model import encoder
from keras_bert_lite.sizes import check_sizes

OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# Saved variables that are not weights: the counters and seeds of a Keras model.
BESIDE = ("save_counter", "seed_generator_state", "Variable")


def detect(source: Source) -> bool:
    """Returns whether a source is a directory with `saved_model.pb`."""
    return isinstance(source, Path) and (source / FILE).is_file()


def load_encoder(
    directory: Path, pooling: str | None, changes: dict[str, Any]
) -> keras.Model:
    """Loads the encoder of a SavedModel, without running the SavedModel.

    Supports the encoders of TensorFlow Model Garden (`BertEncoder`,
    `BertEncoderV2`, `AlbertEncoder`), which are published on TF Hub
    (`bert_en_uncased_L-12_H-768_A-12`, for example), and those written by
    `export_tf_hub`. Sizes come from the variables. The activation and the epsilon
    come from the graph, and so does the number of heads if the variables have no
    axis for it. A SavedModel does not store dropout rates; they are 0.1 unless
    given in `changes`.

    Args:
        directory: The directory with `saved_model.pb` and `variables`.
        pooling: See `load.load_encoder`.
        changes: See `load.load_encoder`.

    Returns:
        A model as returned by `encoder`.

    Warns:
        UserWarning: If a pooler starts from random weights, or variables stay
            unused.

    Raises:
        ValueError: If the files are broken, the variables are not those of one
            supported encoder, or the graph does not show what they lack.

    Reference: `official/nlp/modeling/networks/bert_encoder.py` of
    tensorflow/models.
    """
    source = _source(directory)
    layout, prefix = _layout(source)
    table = layout.names(prefix)
    names = {path: name for name, path in table.items()}
    stored = _stored_pooling(source, names["pooler.dense"])
    kind = stored if pooling == "checkpoint" else pooling
    values = encoder_values(source, SavedGraph(directory), names, layout.activation)
    try:
        config = changed(EncoderConfig(**values, pooling=kind), changes)
        check_sizes(config, source.stored_bytes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{directory}: {error}") from error
    model = encoder(config)
    found = targets(table, model_parts(model), VARIABLES, separator="/")
    found = {x: _target(source, y, x, config) for x, y in found.items()}
    new = is_new_pooler(pooling, stored)
    return fill_model(source, model, found, layout.required(prefix), new)


def load_model(directory: Path, changes: dict[str, Any]) -> keras.Model:
    """Loads the encoder; the SavedModel of an encoder has no head."""
    return load_encoder(directory, "checkpoint", changes)


def _source(directory: Path) -> TensorFlowSource:
    """Returns the variables by their original names, from the object graph."""
    prefix = directory / "variables" / "variables"
    files = TensorFlowSource(prefix)
    if not files.has(OBJECT_GRAPH):
        raise ValueError(f"{prefix} must be of TensorFlow 2, with an object graph.")
    try:
        graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(
            files.stored(OBJECT_GRAPH)
        )
    except DecodeError as error:
        raise ValueError(f"{prefix}: the object graph is broken: {error}") from error
    keys: dict[str, str] = {}
    for attribute in (x for node in graph.nodes for x in node.attributes):
        name = attribute.full_name.removesuffix(":0")
        if SLOTS.search(name) or name.split("/")[-1] in BESIDE:
            continue
        if keys.setdefault(name, attribute.checkpoint_key) != attribute.checkpoint_key:
            raise ValueError(f"{prefix} has two variables named {name!r}.")
    return TensorFlowSource(prefix, keys)


def _layout(source: TensorFlowSource) -> tuple[Layout, str]:
    """Returns the naming layout of the variables, and their common prefix."""
    for layout in LAYOUTS:
        table = f"{layout.tables['token']}/embeddings"
        query = layout.block.replace("{i}", "0") + layout.modules["query"]
        for name in source.names():
            prefix = name.removesuffix(table)
            if prefix != name and source.has(f"{prefix}{query}/"):
                return layout, prefix
    raise ValueError(
        f"{source.location} must hold an encoder of Model Garden or of "
        f"`export_tf_hub`. Received the variables: {source.names()[:5]}"
    )


def _stored_pooling(source: TensorFlowSource, pooler: str) -> str | None:
    if not source.has(f"{pooler}/"):
        return None
    return "attention" if source.size(f"{pooler}/kernel", 1) == 1 else "cls_dense"


def _target(
    source: TensorFlowSource, target: Target, name: str, config: EncoderConfig
) -> Target:
    heads = "attention/" in name and name in source.names()
    if not heads or not isinstance(target, VariableTarget):
        return target
    return with_heads(target, name, config.num_heads, source.shape(name))
