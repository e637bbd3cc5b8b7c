"""Between config.json and `EncoderConfig`."""

from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.activations import THEIRS, activation_name
from keras_bert_lite.checkpoints.families import REFUSED, REQUIRED, ROWS, Family
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.config import EncoderConfig

CONFIG = "config.json"
CHANGEABLE = ("dropout", "attention_dropout")


def read_family(directory: Path) -> tuple[Family, dict[str, Any]]:
    """Returns the row of a checkpoint's architecture, and its config.json.

    Raises:
        ValueError: If the architecture is unknown, or config.json asks for what
            this package does not have.
    """
    path = directory / CONFIG
    raw = read_json(path)
    model_type = raw.get("model_type")
    if not isinstance(model_type, str) or model_type not in ROWS:
        raise ValueError(
            f"{path}: `model_type` must be one of {sorted(ROWS)}. "
            f"Received: {model_type!r}"
        )
    family = ROWS[model_type]
    for name, value in {**REFUSED, **family.refused}.items():
        # None, as some configurations have it, is the default.
        if raw.get(name) not in (value, None):
            raise ValueError(
                f"{path}: `{name}` must be {value!r}. Received: {raw[name]!r}"
            )
    return family, raw


def read_config(
    directory: Path, pooling: str | None, changes: dict[str, Any]
) -> EncoderConfig:
    """Returns the configuration of a checkpoint's encoder.

    Raises:
        ValueError: As `read_family`; or if a field is missing, has a value that
            cannot be, or one of `changes` may not be changed.
    """
    family, raw = read_family(directory)
    path = directory / CONFIG
    fields = family.fields
    required = [name for name, default in fields.values() if default is REQUIRED]
    missing = [name for name in required if name not in raw]
    if missing:
        raise ValueError(f"{path}: the fields {missing} are missing.")
    try:
        values = {
            ours: _value(raw, ours, theirs, default)
            for ours, (theirs, default) in fields.items()
        }
        values = family.read({**values, **family.constants}, raw)
        config = EncoderConfig(**values, pooling=pooling, family=raw["model_type"])
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: {error}") from error
    return changed(config, changes)


def write_config(config: EncoderConfig) -> dict[str, Any]:
    """Returns config.json of an encoder.

    Raises:
        ValueError: If the family's layout has no field for a value that the
            encoder needs.
    """
    family = ROWS[config.family]
    values = config.to_dict()
    for name in ("activation", "convolution_activation"):
        values[name] = THEIRS[values[name]]
    raw = {theirs: values[ours] for ours, (theirs, _) in family.fields.items()}
    raw = {"model_type": config.family, **family.write(raw, values)}
    return {name: value for name, value in raw.items() if value is not None}


def changed(config: EncoderConfig, changes: dict[str, Any]) -> EncoderConfig:
    """Returns the configuration with other rates of dropout."""
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise ValueError(
                f"Only {CHANGEABLE} may differ from the checkpoint. "
                f"Received: {name}={value!r}"
            )
    return config.replace(**changes)


def _value(raw: dict[str, Any], ours: str, theirs: str, default: Any) -> Any:
    if ours in ("activation", "convolution_activation"):
        return activation_name(raw, theirs, default)
    return raw.get(theirs, default)

