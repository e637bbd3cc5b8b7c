"""Rotary positions in config.json: the dictionary `rope_parameters`.

Reference: modeling_rope_utils.py of transformers.
"""

from collections.abc import Mapping
from typing import Any

from keras_bert_lite.checks import check_above_zero, check_choice
from keras_bert_lite.config import Rotary

# Those whose angles are the same in every batch and need no more than a factor.
TYPES = ("default", "linear", "proportional")
# The fields that `read` follows.
FOLLOWED = (
    *("head_dim", "rope_scaling", "rope_parameters", "rope_theta"),
    "partial_rotary_factor",
)


def read(values: dict[str, Any], raw: dict[str, Any], base: float) -> dict[str, Any]:
    """Returns our values, with the rotations of all layers added.

    Args:
        values: Our values.
        raw: config.json.
        base: The family's default base.
    """
    size = values["hidden_dim"] // values["num_heads"]
    if raw.get("head_dim") not in (size, None):
        raise ValueError(f"`head_dim` must be {size}. Received: {raw['head_dim']!r}")
    found = raw.get("rope_scaling") or raw.get("rope_parameters") or {}
    if not isinstance(found, Mapping):
        raise ValueError(f"`rope_parameters` must be a mapping. Received: {found!r}")
    outside = {"rope_theta": raw.get("rope_theta", base)}
    if raw.get("partial_rotary_factor") is not None:
        outside["partial_rotary_factor"] = raw["partial_rotary_factor"]
    return {**values, "rotary": read_rotary({**outside, **found})}


def write(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Returns config.json with the fields that `read` parses."""
    rotary = values["rotary"]
    return {**raw, "rope_parameters": write_rotary(rotary)} if rotary else raw


def read_rotary(found: Mapping[str, Any]) -> Rotary:
    """Returns the rotations that `rope_parameters` describes.

    Raises:
        ValueError: If the type is not one of `TYPES`, or a number is out of range.
    """
    kind = found.get("rope_type", found.get("type", "default"))
    check_choice("rope_type", kind, TYPES)
    base: Any = found.get("rope_theta")
    check_above_zero("rope_theta", base)
    scale = found.get("factor", 1.0 if kind == "proportional" else None)
    if kind == "default":  # transformers does not read the factor
        scale = 1.0
    check_above_zero("factor", scale)
    share = found.get("partial_rotary_factor", 1.0)
    check_above_zero("partial_rotary_factor", share)
    if kind != "proportional" and share != 1:
        raise ValueError(
            "`partial_rotary_factor` must be 1 unless `rope_type` is 'proportional', "
            f"since transformers then rotates whole heads. Received: {share}"
        )
    return Rotary(base=base, local_base=None, scale=scale, share=share)


def write_rotary(rotary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `rope_parameters`, given the fields of a `Rotary`."""
    scale, share = rotary["scale"], rotary["share"]
    found = {"rope_type": "default", "rope_theta": rotary["base"]}
    if share != 1:
        found |= {"rope_type": "proportional", "partial_rotary_factor": share}
    elif scale != 1:
        found |= {"rope_type": "linear"}
    return found if scale == 1 else {**found, "factor": scale}
