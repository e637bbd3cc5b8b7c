"""ModernBERT's config.json fields that need more than a new name."""

from typing import Any

from keras_bert_lite.checkpoints.hugging_face.bias_fields import (
    BIAS_FIELDS,
    read_biases,
    write_biases,
)
from keras_bert_lite.checkpoints.hugging_face.rotary_fields import (
    read_rotary,
    write_rotary,
)
from keras_bert_lite.checks import check_bool, check_positive, check_rate
from keras_bert_lite.config import LocalAttention, Norms, Rotary

GLOBAL, LOCAL = "full_attention", "sliding_attention"
# The kinds of layers -> the older field of their rotary base, and its default.
BASES = {
    GLOBAL: ("global_rope_theta", 160_000.0),
    LOCAL: ("local_rope_theta", 10_000.0),
}
# The fields that `read` and the heads follow, and those of training and of speed.
FOLLOWED = (
    *(name for name, _ in BASES.values()),
    *("mlp_dropout", "norm_bias", "local_attention", "global_attn_every_n_layers"),
    *("layer_types", "rope_parameters", "rope_scaling", *BIAS_FIELDS),
    *("classifier_activation", "classifier_bias", "decoder_bias"),
)
IGNORED = (
    *("initializer_cutoff_factor", "deterministic_flash_attn", "reference_compile"),
    *("sparse_prediction", "sparse_pred_ignore_index", "repad_logits_with_grad"),
)


def read(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Returns our values, with ModernBERT's own fields added."""
    mlp_dropout = raw.get("mlp_dropout", 0.0)
    check_rate("mlp_dropout", mlp_dropout)
    if mlp_dropout != values["dropout"]:
        raise ValueError(
            f"`mlp_dropout` must be `embedding_dropout`, {values['dropout']}. "
            f"Received: {mlp_dropout}"
        )
    norm_bias = raw.get("norm_bias", False)
    check_bool("norm_bias", norm_bias)
    window = raw.get("local_attention", 128)
    check_positive("local_attention", window)
    every = _global_every(raw, values["num_layers"])
    local = every > 1 and values["num_layers"] > 1
    return {
        **values,
        "rotary": _rotary(raw, local),
        "local_attention": (
            None if every == 1 else LocalAttention(window=window, global_every=every)
        ),
        "norms": Norms(
            before=True,
            after=False,
            first=False,
            final=True,
            bias=norm_bias,
        ),
        "biases": read_biases(raw),
    }


def write(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Returns config.json with the fields that `read` parses."""
    local = values["local_attention"] or {"window": 128, "global_every": 1}
    rotary = values["rotary"] or {}
    local_rotary = {**rotary, "base": rotary.get("local_base") or rotary.get("base")}
    fields: dict[str, Any] = {
        "mlp_dropout": values["dropout"],
        **write_biases(values["biases"]),
        "norm_bias": values["norms"]["bias"],
        "local_attention": local["window"],
        "global_attn_every_n_layers": local["global_every"],
        "layer_types": _layer_types(local["global_every"], values["num_layers"]),
    }
    if rotary:
        fields["rope_parameters"] = {
            GLOBAL: write_rotary(rotary),
            LOCAL: write_rotary(local_rotary),
        }
    return {**raw, **fields}


def _layer_types(every: int, num_layers: int) -> list[str]:
    return [LOCAL if layer % every else GLOBAL for layer in range(num_layers)]


def _global_every(raw: dict[str, Any], num_layers: int) -> int:
    """Returns the interval of layers with global attention."""
    every = raw.get("global_attn_every_n_layers", 3)
    check_positive("global_attn_every_n_layers", every)
    kinds = raw.get("layer_types")
    if kinds is None:
        return every
    if not isinstance(kinds, list) or len(kinds) != num_layers:
        raise ValueError(
            f"`layer_types` must be a list of {num_layers} names, one for each layer. "
            f"Received: {kinds!r}"
        )
    for interval in (every, *range(1, num_layers + 1)):
        if kinds == _layer_types(interval, num_layers):
            return interval
    raise ValueError(
        f"`layer_types` must be {GLOBAL!r} in the first layer and at equal intervals "
        f"from there, and {LOCAL!r} in the others. Received: {kinds!r}"
    )


def _rotary(raw: dict[str, Any], local: bool) -> Rotary:
    """Returns the rotations of both kinds of layers."""
    given = raw.get("rope_parameters") or {}
    if not isinstance(given, dict) or set(given) - set(BASES):
        raise ValueError(
            f"`rope_parameters` must map {list(BASES)} to their rotations. "
            f"Received: {given!r}"
        )
    rotations = []
    for kind, (name, default) in BASES.items():
        found = {"rope_theta": raw.get(name, default)}
        for changes in (given.get(kind), raw.get("rope_scaling")):
            if not isinstance(changes, dict | None):
                raise ValueError(
                    f"`rope_parameters` and `rope_scaling` must be mappings. "
                    f"Received: {changes!r}"
                )
            found |= changes or {}
        rotations.append(read_rotary(found))
    whole, near = rotations
    if local and (near.scale, near.share) != (whole.scale, whole.share):
        raise ValueError(
            "`rope_parameters` must scale both kinds of layers alike. "
            f"Received: {given!r}"
        )
    return Rotary(
        base=whole.base, local_base=near.base, scale=whole.scale, share=whole.share
    )
