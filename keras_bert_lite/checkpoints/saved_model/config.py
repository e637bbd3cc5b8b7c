"""Inferring an encoder's configuration from the shapes and graph of a SavedModel."""

from typing import Any

from keras_bert_lite.checkpoints.core.tensorflow_files import TensorFlowSource
from keras_bert_lite.checkpoints.saved_model.graph import SavedGraph

LAYER_NORM_EPSILON = 1e-12


def encoder_values(
    source: TensorFlowSource, graph: SavedGraph, names: dict[str, str], default: str
) -> dict[str, Any]:
    """Returns the fields of an encoder's `EncoderConfig`, except `pooling`.

    Args:
        source: The variables.
        graph: The graph.
        names: The names of the modules, by our paths.
        default: The activation to assume if the graph does not show one.

    Raises:
        ValueError: If the variables and the graph do not determine the fields.
    """
    if graph.checks_padding_ids():
        raise ValueError(
            f"{graph.path} must count positions from the start of the row. Received: "
            "a graph that counts only tokens other than padding, as RoBERTa does"
        )
    query = names["blocks.{i}.attention.query"]
    token = f"{names['embeddings.token_embedding']}/embeddings"
    position = f"{names['embeddings.position_embedding']}/embeddings"
    segment = f"{names['embeddings.segment_embedding']}/embeddings"
    intermediate = f"{names['blocks.{i}.feed_forward.intermediate_dense']}/kernel"
    intermediate = intermediate.replace("{i}", "0")
    width, hidden = source.size(token, 1), source.size(intermediate, 0)
    num_layers, num_groups = _layers(source, graph, query)
    return {
        "vocabulary_size": source.size(token, 0),
        "num_layers": num_layers,
        "num_groups": num_groups,
        "num_heads": _heads(source, graph, f"{query.replace('{i}', '0')}/kernel"),
        "hidden_dim": hidden,
        "intermediate_dim": source.size(intermediate, 1),
        "embedding_dim": None if width == hidden else width,
        "max_sequence_length": source.size(position, 0),
        "num_segments": source.size(segment, 0) if source.has(segment) else 0,
        "activation": graph.activation(default),
        "layer_norm_epsilon": graph.epsilon(LAYER_NORM_EPSILON),
        "family": "albert" if num_groups else "bert" if width == hidden else "electra",
    }


def _layers(
    source: TensorFlowSource, graph: SavedGraph, query: str
) -> tuple[int, int | None]:
    """Returns the number of layers, and the number of blocks if layers share them."""
    numbered = "{i}" in query
    blocks = source.count(f"{query}/") if numbered else 1
    num_layers = graph.num_layers() or (blocks if numbered else None)
    if num_layers is None:
        raise ValueError(
            f"{graph.path} must show how many layers share the weights, by its "
            "`encoder_outputs`. Received: a graph without them"
        )
    return num_layers, None if numbered and blocks == num_layers else blocks


def _heads(source: TensorFlowSource, graph: SavedGraph, kernel: str) -> int:
    """Returns the number of heads, from a kernel (H, N, D) or from the graph."""
    heads = source.size(kernel, 1)
    if len(source.shape(kernel)) == 2:
        heads = graph.num_heads() or 0
    if not heads:
        raise ValueError(
            f"{graph.path} must show the number of heads, which the variable "
            f"{kernel!r} has no axis for. Received: a graph without attention"
        )
    return heads
