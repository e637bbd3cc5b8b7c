"""Converting Google's configuration files to `EncoderConfig`.

The `LayerNorm` of TF1's `contrib` adds 1e-12 to the variance in every model.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_bert_lite.checkpoints.core.config_fields import (
    FIELDS,
    IGNORED,
    REQUIRED,
    changed,
    their_names,
)
from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.core.tensorflow_files import TensorFlowSource
from keras_bert_lite.checkpoints.sources import read_json
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.sizes import check_sizes

LAYER_NORM_EPSILON = 1e-12
HEAD_SIZE = 64
# The meaning of `gelu` differs: BERT and ALBERT approximate it, ELECTRA does not.
ACTIVATIONS = {
    "bert": {"gelu": "gelu_tanh", "relu": "relu", "tanh": "tanh"},
    "albert": {"gelu": "gelu_tanh", "relu": "relu", "tanh": "tanh"},
    "electra": {"gelu": "gelu", "relu": "relu", "tanh": "tanh"},
}
# Defaults of Google's configuration classes.
DEFAULTS: dict[str, dict[str, Any]] = {
    "bert": {"type_vocab_size": 16},
    "albert": {
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "embedding_size": 128,
        "num_hidden_groups": 1,
    },
    "electra": {},
}
# Fields of ALBERT and ELECTRA, in addition to `FIELDS`.
MORE_FIELDS = {
    "embedding_dim": ("embedding_size", None),
    "num_groups": ("num_hidden_groups", None),
}
# What is done with each key of the file, by family.
_NAMES = tuple(name for x, (name, _) in FIELDS.items() if x != "layer_norm_epsilon")
_IGNORED = (
    *IGNORED,
    "layer_norm_eps",  # Google's code has no such field
    # Of a head, and of Hugging Face's configuration of the same model.
    *("model_type", "architectures", "pad_token_id", "problem_type", "id2label"),
)
KEYS = {
    "bert": Keys(_NAMES, ignored=(*_IGNORED, "embedding_size")),
    "albert": Keys(
        (*_NAMES, "embedding_size", "num_hidden_groups"),
        {
            "inner_group_num": 1,
            "net_structure_type": 0,
            "gap_size": 0,
            "num_memory_blocks": 0,
        },
        (*_IGNORED, "down_scale_factor"),
    ),
    "electra": Keys((*_NAMES, "embedding_size"), ignored=_IGNORED),
}
# Files that match `*config*.json` but do not describe the model.
OTHER_FILES = ("tokenizer_config.json", "generation_config.json")


def find_config(directory: Path) -> Path | None:
    """Returns the path of the configuration, `*config*.json`, or `None`.

    Raises:
        ValueError: If there is more than one.
    """
    found = sorted(p.name for p in directory.glob("*config*.json"))
    found = [name for name in found if name not in OTHER_FILES]
    if len(found) > 1:
        raise ValueError(
            f"{directory} must hold one configuration: one file *config*.json. "
            f"Received: {found}"
        )
    return directory / found[0] if found else None


def read_config(
    directory: Path,
    family: str,
    sizes: Mapping[str, Any] | None,
    stored: int,
    pooling: str | None,
    changes: dict[str, Any],
) -> EncoderConfig:
    """Returns the configuration of a checkpoint's encoder.

    Args:
        directory: The directory of the checkpoint.
        family: `"bert"`, `"albert"` or `"electra"`.
        sizes: Values of fields that the file lacks; `None` if the file is required.
        stored: The size of the data files in bytes.
        pooling: See `EncoderConfig`.
        changes: See `load.load_encoder`.

    Raises:
        ValueError: If the file is missing or there are several; if a field is
            missing, unsupported, out of range, or requires far more weights than
            are stored; or if one of `changes` must not be changed.
    """
    path = find_config(directory)
    if path is None and sizes is None:
        raise ValueError(
            f"{directory} must hold {family}_config.json, or another *config*.json. "
            "Received: none"
        )
    stored_fields = read_json(path) if path else {}
    if path:
        KEYS[family].check(stored_fields, path)
    raw = {**(sizes or {}), **stored_fields}
    try:
        config = EncoderConfig(**_values(raw, family), pooling=pooling, family=family)
        check_sizes(config, stored)
    except (ValueError, TypeError) as error:
        names = their_names(error, {**FIELDS, **MORE_FIELDS}) if path else ""
        raise ValueError(f"{path or directory}: {error}{names}") from error
    return changed(config, changes)


def electra_sizes(
    source: TensorFlowSource, scope: str, embeddings: str
) -> dict[str, Any]:
    """Returns ELECTRA's sizes, inferred from the shapes of its variables.

    Its releases come without a configuration. The number of heads is not in the
    shapes, but all published models have a head size of 64 and at least one head.
    """
    layer = f"{scope}/encoder/layer_0"
    tables = f"{embeddings}/embeddings"
    hidden = source.size(f"{layer}/attention/self/query/kernel", 1)
    return {
        "vocab_size": source.size(f"{tables}/word_embeddings", 0),
        "embedding_size": source.size(f"{tables}/word_embeddings", 1),
        "max_position_embeddings": source.size(f"{tables}/position_embeddings", 0),
        "type_vocab_size": source.size(f"{tables}/token_type_embeddings", 0),
        "num_hidden_layers": source.count(f"{scope}/encoder/layer_{{i}}/"),
        "hidden_size": hidden,
        "num_attention_heads": max(1, hidden // HEAD_SIZE),
        "intermediate_size": source.size(f"{layer}/intermediate/dense/kernel", 1),
    }


def _values(raw: dict[str, Any], family: str) -> dict[str, Any]:
    """Returns the fields of `EncoderConfig`."""
    defaults = DEFAULTS[family]
    fields = {n: (x, defaults.get(x, y)) for n, (x, y) in FIELDS.items()}
    del fields["layer_norm_epsilon"]
    required = [name for name, default in fields.values() if default is REQUIRED]
    missing = [name for name in required if name not in raw]
    if missing:
        raise ValueError(f"the fields {missing} are missing.")
    values = {ours: raw.get(name, default) for ours, (name, default) in fields.items()}
    for name in ("dropout", "attention_dropout"):
        values[name] = values[name] or 0.0  # Google's `None` means no dropout
    values["activation"] = _activation(values["activation"], family)
    values["layer_norm_epsilon"] = LAYER_NORM_EPSILON
    if family == "albert":
        values["num_groups"] = raw.get("num_hidden_groups", 1)
    if family != "bert":
        width = raw.get("embedding_size", defaults.get("embedding_size"))
        # There is no projection if both widths are equal.
        values["embedding_dim"] = None if width == values["hidden_dim"] else width
    return values


def _activation(name: Any, family: str) -> str:
    known = ACTIVATIONS[family]
    if not isinstance(name, str) or name.lower() not in known:
        raise ValueError(
            f"`hidden_act` must be one of {sorted(known)}. Received: {name!r}"
        )
    return known[name.lower()]
