"""DeBERTa's fields of config.json that need more than another name."""

from typing import Any

from keras_bert_lite.config import RELATIVE_TERMS, RelativePositions


def read(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Returns our values with those of DeBERTa's own fields."""
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
    """Returns config.json with the fields that `read` reads."""
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
    norm = raw.get("norm_rel_ebd", "none")
    if not isinstance(norm, str):
        raise ValueError(f"`norm_rel_ebd` must be a string. Received: {norm!r}")
    return RelativePositions(
        max_distance=distance if distance >= 1 else rows,
        buckets=buckets if buckets > 0 else None,
        terms=_terms(raw.get("pos_att_type") or ()),
        share_projections=raw.get("share_att_key", False),
        normalize="layer_norm" in [part.strip() for part in norm.lower().split("|")],
    )


def _integer(raw: dict[str, Any], name: str) -> int:
    value = raw.get(name, -1)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"`{name}` must be an integer. Received: {value!r}")
    return value


def _terms(value: Any) -> tuple[str, ...]:
    """Returns the terms: a list, or a string such as `P2C | c2p`.

    As in transformers, only a string may have spaces and capitals. Of a list it
    passes over what is not exactly a term; that is refused here.
    """
    if isinstance(value, str):
        value = [part.strip() for part in value.lower().split("|")]
    known = isinstance(value, (list, tuple)) and all(x in RELATIVE_TERMS for x in value)
    if not known:
        raise ValueError(
            f"`pos_att_type` must be of {RELATIVE_TERMS}. Received: {value!r}"
        )
    return tuple(term for term in RELATIVE_TERMS if term in value)


def _check(raw: dict[str, Any], name: str, expected: int) -> None:
    if raw.get(name, expected) != expected:
        raise ValueError(f"`{name}` must be {expected}. Received: {raw[name]!r}")
