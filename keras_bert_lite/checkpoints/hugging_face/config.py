"""Converting between config.json and `EncoderConfig`."""

import os
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.core.config_fields import (
    CONFIG,
    REQUIRED,
    changed,
    their_names,
)
from keras_bert_lite.checkpoints.hugging_face.activations import THEIRS, activation_name
from keras_bert_lite.checkpoints.hugging_face.families import (
    LAYOUTS,
    Family,
)
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.checks import check_positive
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.sizes import check_sizes

SWITCHES = (
    "tie_word_embeddings",
    "relative_attention",
    "position_biased_input",
    "share_att_key",
    "legacy",
)


def read_family(directory: Path) -> tuple[Family, dict[str, Any]]:
    """Returns the family of a checkpoint and its config.json.

    Raises:
        ValueError: If the family is unknown, or config.json sets an option that
            this package does not support.
    """
    path = directory / CONFIG
    raw = read_json(path)
    model_type = raw.get("model_type")
    if not isinstance(model_type, str) or model_type not in LAYOUTS:
        raise ValueError(
            f"{path}: `model_type` must be one of {sorted(LAYOUTS)}. "
            f"Received: {model_type!r}"
        )
    family = LAYOUTS[model_type]
    raw = {**family.defaults, **raw}
    family.keys.check(raw, path)
    for name in SWITCHES:
        if not isinstance(raw.get(name), bool | None):
            raise ValueError(
                f"{path}: `{name}` must be true or false. Received: {raw[name]!r}"
            )
    return family, raw


def read_config(
    directory: Path, raw: dict[str, Any], pooling: str | None, changes: dict[str, Any]
) -> EncoderConfig:
    """Returns the configuration of a checkpoint's encoder.

    Args:
        directory: The directory of the checkpoint.
        raw: Its config.json, as returned by `read_family`.
        pooling: See `EncoderConfig`.
        changes: See `load.load_encoder`.

    Raises:
        ValueError: If a field is missing, invalid, or requires far more weights
            than are stored; or if one of `changes` must not be changed.
    """
    family = LAYOUTS[raw["model_type"]]
    path = directory / CONFIG
    fields = family.fields
    required = [name for name, default in fields.values() if default is REQUIRED]
    missing = [name for name in required if name not in raw]
    if missing:
        raise ValueError(f"{path}: the fields {missing} are missing.")
    try:
        config = _parsed(raw, family).replace(pooling=pooling)
        check_sizes(config, _stored_bytes(directory), _outputs(raw))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: {error}{their_names(error, family.fields)}"
        ) from error
    return changed(config, changes)


def write_config(config: EncoderConfig) -> dict[str, Any]:
    """Returns the config.json of an encoder.

    Raises:
        ValueError: If the family's config.json has no field for one of the
            encoder's settings.
    """
    family = LAYOUTS[config.family]
    values = config.to_dict()
    for name in ("activation", "convolution_activation"):
        values[name] = THEIRS[values[name]]
    raw = {theirs: values[ours] for ours, (theirs, _) in family.fields.items()}
    raw = {"model_type": config.family, **family.write(raw, values)}
    raw = {name: value for name, value in raw.items() if value is not None}
    _check_expressed(config, raw, family)
    return raw


def _parsed(raw: dict[str, Any], family: Family) -> EncoderConfig:
    values = {
        ours: _value(raw, ours, theirs, default)
        for ours, (theirs, default) in family.fields.items()
    }
    values |= family.constants
    # Validate the numbers before `read` computes with them.
    EncoderConfig(**values)
    check_positive("max_sequence_length", values["max_sequence_length"])
    values = family.read(values, raw)
    return EncoderConfig(**values, family=raw["model_type"])


def _check_expressed(config: EncoderConfig, raw: dict, family: Family) -> None:
    ours = config.to_dict()
    theirs = _parsed(raw, family).to_dict()
    ignored = {"pooling", "initializer_range"}  # set by the head; without effect
    if config.embedding_dim is None:
        ignored.add("project_before_norm")
    if not config.convolution_size:
        ignored |= {"convolution_groups", "convolution_activation"}
    reasons = [
        f"`{name}` must be {theirs[name]!r}. Received: {value!r}"
        for name, value in ours.items()
        if name not in ignored and value != theirs[name]
    ]
    if reasons:
        raise ValueError(
            f"transformers' {family.class_prefix}Model cannot be this encoder: "
            f"{'; '.join(reasons)}"
        )


def _value(raw: dict[str, Any], ours: str, theirs: str, default: Any) -> Any:
    if ours in ("activation", "convolution_activation"):
        return activation_name(raw, theirs, default)
    return raw.get(theirs, default)


def _stored_bytes(directory: Path) -> int:
    files = directory.glob("*.safetensors")
    return sum(os.path.getsize(x) for x in files if os.path.isfile(x))


def _outputs(raw: dict[str, Any]) -> dict[str, Any]:
    """Returns the number of labels, by the field that determines it."""
    names = raw.get("id2label")
    if isinstance(names, (dict, list)) and names:
        return {"id2label": len(names)}
    return {"num_labels": raw.get("num_labels")}
