"""DeBERTa's config.json fields that need more than a new name."""

import dataclasses
from typing import Any

from keras_bert_lite.config import RELATIVE_TERMS, RelativePositions

# Fixed values in DeBERTa v1 of fields introduced with v2.
V1 = {"position_buckets": -1, "share_att_key": False, "norm_rel_ebd": "none"}
# The fields that `read` and the heads follow, and those that no code reads.
FOLLOWED = (
    *("relative_attention", "max_relative_positions", "pos_att_type", *V1),
    *("position_biased_input", "embedding_size", "attention_head_size"),
    *("pooler_hidden_size", "pooler_hidden_act", "pooler_dropout", "legacy"),
)
IGNORED = ("padding_idx", "summary_type", "summary_last_dropout", "summary_activation")


def read(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Returns our values, with DeBERTa's own fields added."""
    rows = values["max_sequence_length"]
    width = raw.get("embedding_size", values["hidden_dim"])
    heads = values["hidden_dim"] // values["num_heads"]
    _check(raw, "attention_head_size", heads)
    _check(raw, "pooler_hidden_size", values["hidden_dim"])
    absolute = raw.get("position_biased_input", True)
    return {
        **values,
        "embedding_dim": None if width == values["hidden_dim"] else width,
        "max_sequence_length": rows if absolute else None,
        "relative_positions": _relative_positions(raw, rows),
    }


def write(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Returns config.json with the fields that `read` parses."""
    relative = values["relative_positions"]
    absolute = values["max_sequence_length"]
    rows = absolute or (relative["max_distance"] if relative else 512)
    fields: dict[str, Any] = {
        "position_biased_input": absolute is not None,
        "max_position_embeddings": rows,
        "relative_attention": relative is not None,
        "embedding_size": values["embedding_dim"] or values["hidden_dim"],
        "pooler_hidden_size": values["hidden_dim"],
    }
    if relative is not None:
        fields |= {
            "max_relative_positions": relative["max_distance"],
            "position_buckets": relative["buckets"] or -1,
            "pos_att_type": list(relative["terms"]),
            "share_att_key": relative["share_projections"],
            "norm_rel_ebd": "layer_norm" if relative["normalize"] else "none",
        }
    return {**raw, **fields}


def read_v1(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Like `read`, for DeBERTa v1, in which some of the options of v2 are fixed.

    A term that v1 lists twice counts twice in the divisor of the scores.
    """
    values = read(values, {**raw, **V1})
    relative = values["relative_positions"]
    if relative is not None:
        terms = _terms(raw.get("pos_att_type") or ())
        relative = dataclasses.replace(relative, terms=terms)
    return {**values, "relative_positions": relative}


def write_v1(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Returns config.json with the fields that `read_v1` parses."""
    return {name: x for name, x in write(raw, values).items() if name not in V1}


def _relative_positions(raw: dict[str, Any], rows: int) -> RelativePositions | None:
    if not raw.get("relative_attention", False):
        if raw.get("pos_att_type"):
            raise ValueError(
                "`pos_att_type` must be empty without `relative_attention`. "
                f"Received: {raw['pos_att_type']!r}"
            )
        return None
    distance = _integer(raw, "max_relative_positions")
    buckets = _integer(raw, "position_buckets")
    terms = _terms(raw.get("pos_att_type") or ())
    norm = raw.get("norm_rel_ebd", "none")
    if not isinstance(norm, str):
        raise ValueError(f"`norm_rel_ebd` must be a string. Received: {norm!r}")
    return RelativePositions(
        max_distance=distance if distance >= 1 else rows,
        buckets=buckets if buckets > 0 else None,
        terms=tuple(x for x in RELATIVE_TERMS if x in terms),
        share_projections=bool(raw.get("share_att_key")),
        normalize="layer_norm" in [part.strip() for part in norm.lower().split("|")],
    )


def _integer(raw: dict[str, Any], name: str) -> int:
    value = raw.get(name, -1)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"`{name}` must be an integer. Received: {value!r}")
    return value


def _terms(value: Any) -> tuple[str, ...]:
    """Parses the terms: a list, or a string such as `p2c|c2p`.

    Like transformers, tolerates spaces and capitals in a string, but not in a list.
    """
    parts = value
    if isinstance(value, str):
        parts = [part.strip() for part in value.lower().split("|")]
    known = isinstance(parts, (list, tuple)) and all(x in RELATIVE_TERMS for x in parts)
    if not known:
        raise ValueError(
            f"`pos_att_type` must be from {RELATIVE_TERMS}. Received: {value!r}"
        )
    return tuple(parts)


def _check(raw: dict[str, Any], name: str, expected: int) -> None:
    if raw.get(name, expected) != expected:
        raise ValueError(f"`{name}` must be {expected}. Received: {raw[name]!r}")
