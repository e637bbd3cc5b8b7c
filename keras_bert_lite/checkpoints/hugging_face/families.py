"""The checkpoint layout of each family, one row per family.

A row lists the config.json fields, the fixed values, the refused options and the
tensor names. Names and defaults come from the configuration and modeling files of
Hugging Face transformers.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from keras_bert_lite.checkpoints.core.config_fields import (
    FIELDS,
    IGNORED,
    REQUIRED,
)
from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.core.name_table import Table
from keras_bert_lite.checkpoints.hugging_face import (
    deberta_fields,
    eurobert_fields,
    modernbert_fields,
    names as family_names,
    rotary_fields,
)
from keras_bert_lite.checkpoints.hugging_face.bias_fields import BIAS_FIELDS
from keras_bert_lite.checkpoints.hugging_face.head_builders import (
    CROSS_ENCODER,
    OLD_ACTIVATION,
)
from keras_bert_lite.checkpoints.hugging_face.heads import HEADS, Head
from keras_bert_lite.config import Biases, RelativeBias

# Options that change the result and are not supported, with their only valid value.
REFUSED: dict[str, Any] = {
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "quantization_config": None,
    "pruned_heads": {},
}
# What the readers of all families follow, besides the fields of a family's row.
FOLLOWED = (
    "model_type",
    "architectures",
    "id2label",
    "num_labels",
    "problem_type",
    CROSS_ENCODER,
    OLD_ACTIVATION,
    "tie_word_embeddings",
)


def _same(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    return values


@dataclasses.dataclass(frozen=True)
class Family:
    """The checkpoint layout of a family.

    Args:
        class_prefix: Prefix of the class names in transformers, such as `Bert`.
        prefix: Prefix of the encoder's tensors in models with a head, such as
            `bert.`.
        names: The encoder's modules, mapped to our layers; see
            `name_table.targets`.
        heads: The heads, by suffix of the class name; see `heads`.
        fields: The config.json fields; see `FIELDS`.
        constants: Our fields that are the same in every checkpoint.
        defaults: config.json fields whose default is not that of other families.
        refused: config.json fields that support a single value.
        followed: config.json fields that `read` and the heads follow, besides
            `fields`, `FOLLOWED` and the heads' rates of dropout.
        ignored: config.json fields that change nothing here, besides `IGNORED`.
        read: Adapts our values, given config.json.
        write: Adapts config.json, given our values.
        pooled: Whether the architecture without a head has a pooler.
        modules: The names of the encoder's modules in transformers, if it stores
            them under others (`names`); checkpoints may have either.
        aliases: The same for modules of heads: name in transformers -> stored name.
        tokenizer_fields: config.json fields that are null without a tokenizer, since
            their default is an id of the published vocabulary.
    """

    class_prefix: str
    prefix: str
    names: Table
    heads: Mapping[str, Head]
    fields: Mapping[str, tuple[str, Any]] = dataclasses.field(
        default_factory=lambda: FIELDS
    )
    constants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    refused: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    followed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    read: Callable[[dict, dict], dict] = _same
    write: Callable[[dict, dict], dict] = lambda raw, values: raw
    pooled: bool = True
    modules: Table = dataclasses.field(default_factory=dict)
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)
    tokenizer_fields: tuple[str, ...] = ()

    @property
    def keys(self) -> Keys:
        """What is done with each key of config.json."""
        heads = self.heads.values()
        return Keys(
            followed=(
                *FOLLOWED,
                *self.followed,
                *(name for name, _ in self.fields.values()),
                *(head.dropout[0] for head in heads if head.dropout),
                *("classifier_pooling" for head in heads if head.poolings),
            ),
            only={**REFUSED, **self.refused},
            ignored=(*IGNORED, *self.ignored),
        )


def _fields(without: tuple[str, ...] = (), **changes: tuple[str, Any]) -> dict:
    fields = {**FIELDS, **changes}
    return {name: field for name, field in fields.items() if name not in without}


def _positions_after_padding(
    values: dict[str, Any], raw: dict[str, Any]
) -> dict[str, Any]:
    """Skips the rows of the position table up to the padding id, as RoBERTa does."""
    padding_id = raw.get("pad_token_id", 1)
    if isinstance(padding_id, bool) or not isinstance(padding_id, int):
        raise ValueError(f"`pad_token_id` must be an integer. Received: {padding_id!r}")
    offset = padding_id + 1
    rows = values["max_sequence_length"] - offset
    return {**values, "position_offset": offset, "max_sequence_length": rows}


def _rows_with_padding(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    offset = values["position_offset"]
    rows = raw["max_position_embeddings"] + offset
    return {**raw, "max_position_embeddings": rows, "pad_token_id": offset - 1}


def _roberta(class_prefix: str, prefix: str = "roberta.") -> Family:
    return Family(
        class_prefix,
        prefix,
        family_names.BERT,
        HEADS["roberta"],
        followed=("pad_token_id",),
        read=_positions_after_padding,
        write=_rows_with_padding,
    )


def _embedding_dim(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    width = raw.get("embedding_size", 128)
    # Unlike ALBERT, ELECTRA has no projection between equal widths.
    same = width == values["hidden_dim"]
    return {**values, "embedding_dim": None if same else width}


def _embedding_size(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    return {**raw, "embedding_size": values["embedding_dim"] or values["hidden_dim"]}


def _task_types(values: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    used = raw.get("use_task_id", False)
    if not isinstance(used, bool):
        raise ValueError(f"`use_task_id` must be true or false. Received: {used!r}")
    return {**values, "num_task_types": raw.get("task_type_vocab_size", 3) * used}


def _task_ids(raw: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    rows = values["num_task_types"]
    return {**raw, "use_task_id": rows > 0, "task_type_vocab_size": rows or 3}


NO_BIASES = Biases(**dict.fromkeys((x.name for x in dataclasses.fields(Biases)), False))
LAYOUTS: dict[str, Family] = {
    "bert": Family("Bert", "bert.", family_names.BERT, HEADS["bert"]),
    "roberta": _roberta("Roberta"),
    "xlm-roberta": _roberta("XLMRoberta"),
    "camembert": _roberta("Camembert"),
    "data2vec-text": _roberta("Data2VecText", "data2vec_text."),
    "distilbert": Family(
        "DistilBert",
        "distilbert.",
        family_names.DISTILBERT,
        HEADS["distilbert"],
        pooled=False,
        fields=_fields(
            without=("num_segments", "layer_norm_epsilon"),
            num_layers=("n_layers", REQUIRED),
            num_heads=("n_heads", REQUIRED),
            hidden_dim=("dim", REQUIRED),
            intermediate_dim=("hidden_dim", REQUIRED),
            dropout=("dropout", 0.1),
            attention_dropout=("attention_dropout", 0.1),
            activation=("activation", "gelu"),
        ),
        constants={"num_segments": 0, "layer_norm_epsilon": 1e-12},
        # The first values of a table that checkpoints have.
        ignored=("sinusoidal_pos_embds", "tie_weights_"),
    ),
    "albert": Family(
        "Albert",
        "albert.",
        family_names.ALBERT,
        HEADS["albert"],
        fields=_fields(
            dropout=("hidden_dropout_prob", 0.0),
            attention_dropout=("attention_probs_dropout_prob", 0.0),
            activation=("hidden_act", "gelu_new"),
            embedding_dim=("embedding_size", 128),
            num_groups=("num_hidden_groups", 1),
        ),
        refused={"inner_group_num": 1},
        # transformers does not read them.
        ignored=(
            *("net_structure_type", "gap_size", "num_memory_blocks"),
            "down_scale_factor",
        ),
    ),
    "electra": Family(
        "Electra",
        "electra.",
        family_names.BERT,
        HEADS["electra"],
        pooled=False,
        followed=(
            *("embedding_size", "summary_type", "summary_use_proj"),
            "summary_activation",
        ),
        read=_embedding_dim,
        write=_embedding_size,
    ),
    "ernie": Family(
        "Ernie",
        "ernie.",
        family_names.ERNIE,
        HEADS["bert"],
        followed=("use_task_id", "task_type_vocab_size"),
        read=_task_types,
        write=_task_ids,
    ),
    "mpnet": Family(
        "MPNet",
        "mpnet.",
        family_names.MPNET,
        HEADS["mpnet"],
        fields=_fields(without=("num_segments",)),
        constants={"num_segments": 0, "relative_bias": RelativeBias()},
        # transformers uses these values whatever the configuration says.
        refused={"pad_token_id": 1, "relative_attention_num_buckets": 32},
        read=_positions_after_padding,
        write=_rows_with_padding,
    ),
    "deberta": Family(
        "Deberta",
        "deberta.",
        family_names.DEBERTA_V1,
        HEADS["deberta"],
        pooled=False,
        fields=_fields(
            num_segments=("type_vocab_size", 0),
            layer_norm_epsilon=("layer_norm_eps", 1e-7),
        ),
        constants={"project_before_norm": True, "biases": Biases(key=False)},
        refused={"talking_head": False},
        followed=deberta_fields.FOLLOWED,
        ignored=deberta_fields.IGNORED,
        read=deberta_fields.read_v1,
        write=deberta_fields.write_v1,
    ),
    "deberta-v2": Family(
        "DebertaV2",
        "deberta.",
        family_names.DEBERTA,
        HEADS["deberta-v2"],
        pooled=False,
        fields=_fields(
            num_segments=("type_vocab_size", 0),
            layer_norm_epsilon=("layer_norm_eps", 1e-7),
            convolution_size=("conv_kernel_size", 0),
            convolution_groups=("conv_groups", 1),
            convolution_activation=("conv_act", "tanh"),
        ),
        constants={"project_before_norm": True},
        followed=deberta_fields.FOLLOWED,
        ignored=deberta_fields.IGNORED,
        read=deberta_fields.read,
        write=deberta_fields.write,
    ),
    "modernbert": Family(
        "ModernBert",
        "model.",
        family_names.MODERNBERT,
        HEADS["modernbert"],
        pooled=False,
        fields=_fields(
            without=("num_segments",),
            max_sequence_length=("max_position_embeddings", 8192),
            dropout=("embedding_dropout", 0.0),
            attention_dropout=("attention_dropout", 0.0),
            layer_norm_epsilon=("norm_eps", 1e-5),
            activation=("hidden_activation", "gelu"),
        ),
        constants={"num_segments": 0, "gated": True},
        followed=modernbert_fields.FOLLOWED,
        ignored=modernbert_fields.IGNORED,
        read=modernbert_fields.read,
        write=modernbert_fields.write,
        tokenizer_fields=("pad_token_id", "bos_token_id", "eos_token_id"),
    ),
    "nomic_bert": Family(
        "NomicBert",
        "nomic_bert.",
        family_names.NOMIC,
        HEADS["nomic_bert"],
        pooled=False,
        fields=_fields(
            max_sequence_length=("max_position_embeddings", 2048),
            dropout=("hidden_dropout_prob", 0.0),
            attention_dropout=("attention_probs_dropout_prob", 0.0),
            activation=("hidden_act", "silu"),
        ),
        constants={"gated": True, "biases": NO_BIASES},
        followed=rotary_fields.FOLLOWED,
        read=functools.partial(rotary_fields.read, base=1000.0),
        write=rotary_fields.write,
        modules=family_names.GTE_MODULES,
    ),
    "gte": Family(
        "Gte",
        "gte.",
        family_names.GTE,
        HEADS["gte"],
        pooled=False,
        fields=_fields(
            max_sequence_length=("max_position_embeddings", 8192),
            num_segments=("type_vocab_size", 1),
            attention_dropout=("attention_probs_dropout_prob", 0.0),
        ),
        constants={"gated": True, "biases": Biases(intermediate=False)},
        refused={
            "position_embedding_type": "rope",
            "layer_norm_type": "layer_norm",
            "logn_attention_scale": False,
        },
        ignored=(
            *("logn_attention_clip1", "pack_qkv", "unpad_inputs"),
            "use_memory_efficient_attention",
        ),
        followed=rotary_fields.FOLLOWED,
        read=functools.partial(rotary_fields.read, base=160_000.0),
        write=rotary_fields.write,
        modules=family_names.GTE_MODULES,
        aliases={"lm_head.layer_norm": "lm_head.norm"},
        tokenizer_fields=("pad_token_id",),
    ),
    "jina_embeddings_v3": Family(
        "JinaEmbeddingsV3",
        "roberta.",
        family_names.JINA,
        HEADS["jina_embeddings_v3"],
        fields=_fields(
            max_sequence_length=("max_position_embeddings", 8194),
            num_segments=("type_vocab_size", 1),
            layer_norm_epsilon=("layer_norm_eps", 1e-5),
        ),
        followed=rotary_fields.FOLLOWED,
        read=functools.partial(rotary_fields.read, base=20_000.0),
        write=rotary_fields.write,
        modules=family_names.JINA_MODULES,
        tokenizer_fields=("pad_token_id",),
    ),
    "eurobert": Family(
        "EuroBert",
        "model.",
        family_names.EUROBERT,
        HEADS["eurobert"],
        pooled=False,
        fields=_fields(
            without=("num_segments", "dropout"),
            num_key_value_heads=("num_key_value_heads", None),
            max_sequence_length=("max_position_embeddings", 8192),
            attention_dropout=("attention_dropout", 0.0),
            layer_norm_epsilon=("rms_norm_eps", 1e-5),
            activation=("hidden_act", "silu"),
        ),
        constants={
            "num_segments": 0,
            "dropout": 0.0,
            "gated": True,
            "norms": eurobert_fields.NORMS,
        },
        defaults={"tie_word_embeddings": False},
        refused={"pretraining_tp": 1},
        followed=(*rotary_fields.FOLLOWED, *BIAS_FIELDS),
        read=eurobert_fields.read,
        write=eurobert_fields.write,
        tokenizer_fields=("pad_token_id", "bos_token_id", "eos_token_id"),
    ),
}
