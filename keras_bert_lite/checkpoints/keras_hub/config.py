"""Converting between KerasHub's backbone configurations and `EncoderConfig`."""

from collections.abc import Mapping
from typing import Any

from keras_bert_lite.checkpoints.keras_hub.families import (
    HUB_FAMILIES,
    check_buckets,
    row_of,
)
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.families import FAMILIES
from keras_bert_lite.sizes import check_sizes


def read_config(
    family: str,
    raw: Mapping[str, Any],
    stored: int | None = None,
    outputs: Mapping[str, Any] = {},
    **functions: Any,
) -> EncoderConfig:
    """Returns the `EncoderConfig` of a backbone.

    Args:
        family: A key of `HUB_FAMILIES`.
        raw: The backbone's arguments.
        stored: The size of the weight files in bytes, for a backbone that is not
            built yet; `None` for one that is.
        outputs: See `check_sizes`.
        **functions: `activation` and `layer_norm_epsilon`, if they differ from
            the family's.

    Raises:
        ValueError: If this package does not support the backbone, or the backbone
            requires far more weights than are stored.
    """
    row = HUB_FAMILIES[family]
    row.keys.check(raw, f"KerasHub's {row.prefix}Backbone")
    values = row.read({ours: raw[theirs] for ours, theirs in row.fields.items()})
    constants = {
        "num_segments": 0,
        "activation": row.activation,
        "layer_norm_epsilon": row.epsilon,
    }
    config = EncoderConfig(
        **{**constants, **values, **functions},
        attention_dropout=values["dropout"],
        pooling="cls_dense" if row.pooled else None,
        family=family,
    )
    if stored is not None:
        check_sizes(config, stored, outputs)
    relative = config.relative_positions
    if relative is not None and relative.buckets is not None:
        check_buckets(relative.max_distance, relative.buckets)
    return config


def write_config(config: EncoderConfig) -> dict[str, Any]:
    """Returns the arguments of the backbone that is equivalent to an encoder.

    Raises:
        ValueError: If there is none. The message names the fields that differ.
    """
    row = row_of(config.family)
    backbone = f"KerasHub's {row.prefix}Backbone"
    try:
        values = row.write(config.to_dict())
        raw = {theirs: values[ours] for ours, theirs in row.fields.items()}
        if "num_segments" in raw:
            raw["num_segments"] = max(1, raw["num_segments"])
        raw["max_sequence_length"] = raw["max_sequence_length"] or 512
        expressed = read_config(config.family, raw)
    except ValueError as error:
        raise ValueError(f"{backbone} cannot be this encoder: {error}") from error
    ours, theirs = _essence(config), _essence(expressed)
    reasons = [
        f"`{name}` must be {theirs[name]!r}. Received: {value!r}"
        for name, value in ours.items()
        if name in theirs and value != theirs[name]
    ]
    if reasons:
        raise ValueError(f"{backbone} cannot be this encoder: {'; '.join(reasons)}")
    return raw


def _essence(config: EncoderConfig) -> dict[str, Any]:
    """Returns the fields that change the result, in a canonical form to compare."""
    values = config.to_dict()
    del values["initializer_range"]
    values["num_groups"] = config.num_groups or config.num_layers
    if config.embedding_dim is None:
        del values["project_before_norm"]
    if not config.convolution_size:
        del values["convolution_groups"], values["convolution_activation"]
    row = row_of(config.family)
    if config.pooling is None and row.pooled:
        values["pooling"] = "cls_dense"  # an additional pooler does not matter
    if FAMILIES[config.family].positions_after_padding:
        # KerasHub lacks the rows before the first position, and merges one segment.
        del values["position_offset"]
        if config.num_segments == 1:
            values["num_segments"] = 0
    return values
