"""The families in KerasHub, one row per family. See `hugging_face.families`."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from keras import ops

from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.keras_hub import names
from keras_bert_lite.config import RelativePositions
from keras_bert_lite.layers.attention.relative_positions import table_rows

# Limit for the check of buckets: its memory is quadratic, and no weights bound it.
LONGEST = 4096
# Our field -> argument of the backbone.
FIELDS = {
    "vocabulary_size": "vocabulary_size",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "hidden_dim": "hidden_dim",
    "intermediate_dim": "intermediate_dim",
    "dropout": "dropout",
    "max_sequence_length": "max_sequence_length",
}
LAYER_ARGUMENTS = ("name", "trainable", "dtype")
SEGMENTS = {"num_segments": "num_segments"}
WIDTH = {"embedding_dim": "embedding_dim"}


def _same(values: dict[str, Any]) -> dict[str, Any]:
    return values


@dataclasses.dataclass(frozen=True)
class HubFamily:
    """A family in KerasHub.

    Args:
        prefix: Prefix of KerasHub's class names, such as `Bert`.
        names: The names of the backbone's variables, mapped to our layers.
        fields: Our fields -> the backbone's arguments.
        activation: Our name of the blocks' activation.
        epsilon: The epsilon of layer normalization.
        pooled: Whether the backbone has a `pooled_output`.
        read: Converts the backbone's values, keyed by our fields, to our values.
        write: The inverse of `read`. A value that it cannot express must differ
            after `read`, so that `write_config` refuses it.
        head: The names of the text classifier's head.
    """

    prefix: str
    names: Mapping[str, str]
    fields: Mapping[str, str]
    activation: str
    epsilon: float
    pooled: bool = False
    read: Callable[[dict], dict] = _same
    write: Callable[[dict], dict] = _same
    head: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: names.HIDDEN_HEAD
    )

    @property
    def keys(self) -> Keys:
        """What is done with each of the backbone's arguments."""
        return Keys(self.fields.values(), {"num_inner_repetitions": 1}, LAYER_ARGUMENTS)


def _read_positions(values: dict[str, Any]) -> dict[str, Any]:
    """Adds Hugging Face's two rows before the first position, and its one segment."""
    return {**values, "position_offset": 2, "num_segments": 1}


def _roberta(prefix: str) -> HubFamily:
    return HubFamily(prefix, names.ROBERTA, FIELDS, "gelu", 1e-5, read=_read_positions)


def _read_width(values: dict[str, Any]) -> dict[str, Any]:
    """Drops an equal embedding width: unlike ALBERT, ELECTRA then has no projection."""
    same = values["embedding_dim"] == values["hidden_dim"]
    return {**values, "embedding_dim": None if same else values["embedding_dim"]}


def _write_width(values: dict[str, Any]) -> dict[str, Any]:
    width = values["embedding_dim"] or values["hidden_dim"]
    return {**values, "embedding_dim": width}


def _write_groups(values: dict[str, Any]) -> dict[str, Any]:
    groups = values["num_groups"] or values["num_layers"]
    return {**_write_width(values), "num_groups": groups}


def _read_relative(values: dict[str, Any]) -> dict[str, Any]:
    buckets, distance = values.pop("buckets"), values["max_sequence_length"]
    relative = RelativePositions(max_distance=distance, buckets=buckets)
    return {
        **values,
        "relative_positions": relative,
        "max_sequence_length": None,
        "project_before_norm": True,
    }


def _write_relative(values: dict[str, Any]) -> dict[str, Any]:
    relative = values["relative_positions"]
    if relative is None:
        raise ValueError("`relative_positions` must be given. Received: None")
    distance = relative["max_distance"]
    buckets = relative["buckets"] or distance
    return {**values, "max_sequence_length": distance, "buckets": buckets}


HUB_FAMILIES: dict[str, HubFamily] = {
    "bert": HubFamily(
        "Bert",
        names.BERT,
        {**FIELDS, **SEGMENTS},
        "gelu_tanh",
        1e-12,
        pooled=True,
        head=names.PLAIN_HEAD,
    ),
    "roberta": _roberta("Roberta"),
    "xlm-roberta": _roberta("XLMRoberta"),
    "distilbert": HubFamily("DistilBert", names.DISTILBERT, FIELDS, "gelu", 1e-12),
    "albert": HubFamily(
        "Albert",
        names.ALBERT,
        {**FIELDS, **SEGMENTS, **WIDTH, "num_groups": "num_groups"},
        "gelu_tanh",
        1e-12,
        pooled=True,
        write=_write_groups,
        head=names.PLAIN_HEAD,
    ),
    "electra": HubFamily(
        "Electra",
        names.ELECTRA,
        {**FIELDS, **SEGMENTS, **WIDTH, "vocabulary_size": "vocab_size"},
        "gelu_tanh",
        1e-12,
        pooled=True,
        read=_read_width,
        write=_write_width,
    ),
    "deberta-v2": HubFamily(
        "DebertaV3",
        names.DEBERTA,
        {**FIELDS, "buckets": "bucket_size"},
        "gelu",
        1e-7,
        read=_read_relative,
        write=_write_relative,
    ),
}


def check_buckets(max_distance: int, buckets: int) -> None:
    """Raises ValueError if KerasHub's rounding assigns distances to other buckets.

    KerasHub divides last, in float32. For some sizes, the distance between the first
    and last of `max_distance` tokens then gets another bucket than by the formula.
    """
    middle = buckets // 2
    if middle < 1 or max_distance - 1 <= middle:
        return  # refused by `RelativePositions` or the layer
    if max_distance > LONGEST:
        raise ValueError(
            f"`max_sequence_length` must be at most {LONGEST} where distances share "
            f"buckets. Received: {max_distance}"
        )
    # Use the full shape: the results of vectorized logarithms depend on it.
    indices = np.arange(max_distance)
    distances = np.abs(indices[:, None] - indices)
    sizes = np.maximum(distances, middle).astype("float32")
    logs = ops.log(ops.convert_to_tensor(sizes) / np.float32(middle))
    last = ops.log(ops.convert_to_tensor(np.float32(max_distance - 1) / middle))
    far = ops.convert_to_numpy(ops.ceil(logs * np.float32(middle - 1) / last)) + middle
    rows = buckets - np.where(distances <= middle, distances, far).astype(int)
    if not np.array_equal(
        np.maximum(rows, 0), table_rows(-distances, max_distance, buckets)
    ):
        raise ValueError(
            "`bucket_size` and `max_sequence_length` must be such that rounding puts "
            "every distance in the bucket that the formula gives. "
            f"Received: bucket_size={buckets}, max_sequence_length={max_distance}"
        )


def row_of(family: str) -> HubFamily:
    """Returns the row of a family.

    Raises:
        ValueError: If KerasHub does not have the family.
    """
    if family not in HUB_FAMILIES:
        raise ValueError(
            f"`model` must be of a family that KerasHub has, {sorted(HUB_FAMILIES)}. "
            f"Received: {family!r}"
        )
    return HUB_FAMILIES[family]
