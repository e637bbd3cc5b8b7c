"""Tiny checkpoints of every architecture, and what transformers makes of them."""

import tempfile
from pathlib import Path

import safetensors.numpy
import torch
import transformers

from tests.families import checkpoints

SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 24,
}
DISTIL_SIZES = {
    "vocab_size": 40,
    "dim": 16,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 24,
}
DEBERTA = {
    **SIZES,
    "relative_attention": True,
    "max_relative_positions": -1,
    "position_buckets": 4,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "layer_norm_eps": 1e-7,
}
DEBERTA_V1 = {
    **SIZES,
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False,
    "layer_norm_eps": 1e-7,
}
LINEAR = {"rope_type": "linear", "rope_theta": 1000.0, "factor": 3.0}
PROPORTIONAL = {
    "rope_type": "proportional",
    "rope_theta": 100.0,
    "partial_rotary_factor": 0.5,
    "factor": 2.0,
}
KINDS = ("full_attention", "sliding_attention")
MODERNBERT = {**SIZES, "pad_token_id": 0, "local_attention": 4}
# Family -> class prefix, base configuration, unusual configurations.
FAMILIES = {
    "bert": (
        "Bert",
        SIZES,
        [
            {"hidden_act": "relu", "layer_norm_eps": 1e-3, "type_vocab_size": 1},
            {"hidden_act": "gelu_new", "num_attention_heads": 1, "type_vocab_size": 5},
        ],
    ),
    "roberta": (
        "Roberta",
        {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        [{"pad_token_id": 3, "type_vocab_size": 2}, {"hidden_act": "silu"}],
    ),
    "xlm-roberta": (
        "XLMRoberta",
        {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        [{"pad_token_id": 0}],
    ),
    "camembert": (
        "Camembert",
        {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        [{"pad_token_id": 2, "hidden_act": "relu"}],
    ),
    "data2vec-text": (
        "Data2VecText",
        {**SIZES, "type_vocab_size": 1, "layer_norm_eps": 1e-5},
        [{"pad_token_id": 0, "type_vocab_size": 2}],
    ),
    "distilbert": (
        "DistilBert",
        DISTIL_SIZES,
        [{"activation": "relu"}, {"sinusoidal_pos_embds": True, "n_heads": 2}],
    ),
    "albert": (
        "Albert",
        {**SIZES, "embedding_size": 8},
        [
            {"num_hidden_groups": 3, "hidden_act": "gelu"},
            {"embedding_size": 16, "type_vocab_size": 1},
            {"num_hidden_groups": 2, "num_hidden_layers": 4},
        ],
    ),
    "electra": (
        "Electra",
        {**SIZES, "embedding_size": 8},
        [{"embedding_size": 16}, {"hidden_act": "relu", "layer_norm_eps": 1e-5}],
    ),
    "ernie": (
        "Ernie",
        SIZES,
        [{"use_task_id": True, "type_vocab_size": 4}, {"hidden_act": "relu"}],
    ),
    "mpnet": (
        "MPNet",
        {**SIZES, "layer_norm_eps": 1e-5},
        [{"hidden_act": "relu", "num_attention_heads": 2}],
    ),
    "deberta": (
        "Deberta",
        DEBERTA_V1,
        [
            {"pos_att_type": ["c2p"], "position_biased_input": True},
            {"pos_att_type": "p2c | C2P", "max_relative_positions": 6},
            {"pos_att_type": ["c2p", "p2c", "c2p"], "type_vocab_size": 2},
            {"relative_attention": False, "pos_att_type": None, "embedding_size": 8},
        ],
    ),
    "deberta-v2": (
        "DebertaV2",
        DEBERTA,
        [
            {"share_att_key": False, "norm_rel_ebd": "none", "position_buckets": -1},
            {"conv_kernel_size": 3, "conv_act": "gelu", "pos_att_type": "p2c|c2p"},
            {
                "position_biased_input": True,
                "type_vocab_size": 2,
                "pos_att_type": "c2p",
            },
            {"embedding_size": 8, "max_relative_positions": 6, "position_buckets": 0},
            {
                "relative_attention": False,
                "pos_att_type": None,
                "norm_rel_ebd": "none",
            },
        ],
    ),
    "modernbert": (
        "ModernBert",
        MODERNBERT,
        [
            {"attention_bias": True, "mlp_bias": True, "norm_bias": True},
            {
                "global_attn_every_n_layers": 2,
                "global_rope_theta": 500.0,
                "local_rope_theta": 20.0,
                "hidden_activation": "silu",
            },
            {
                "layer_types": ["full_attention"] * 3,
                "rope_parameters": {"full_attention": LINEAR},
            },
            {
                "local_attention": 7,
                "rope_parameters": dict.fromkeys(KINDS, PROPORTIONAL),
            },
        ],
    ),
    "nomic_bert": (
        "NomicBert",
        {**SIZES, "pad_token_id": 0},
        [
            {"rope_theta": 10_000.0, "hidden_act": "gelu", "type_vocab_size": 1},
            {"rope_parameters": LINEAR, "layer_norm_eps": 1e-5},
            {"rope_parameters": PROPORTIONAL},
        ],
    ),
    "gte": (
        "Gte",
        {**SIZES, "pad_token_id": 1},
        [
            {"type_vocab_size": 0, "rope_theta": 500_000.0},
            {"rope_scaling": LINEAR, "hidden_act": "silu", "type_vocab_size": 2},
        ],
    ),
    "jina_embeddings_v3": (
        "JinaEmbeddingsV3",
        {**SIZES, "pad_token_id": 1},
        [{"rope_parameters": LINEAR, "hidden_act": "relu", "type_vocab_size": 2}],
    ),
    "eurobert": (
        "EuroBert",
        {**SIZES, "pad_token_id": 0, "num_key_value_heads": 2},
        [
            {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 1},
            {"num_key_value_heads": None, "rope_theta": 250_000, "hidden_act": "gelu"},
        ],
    ),
}
ROTARY = ("modernbert", "nomic_bert", "gte", "jina_embeddings_v3", "eurobert")
HEADS = (
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForMultipleChoice",
    "ForMaskedLM",
    "ForPreTraining",
    "ForNextSentencePrediction",
)
NAMES_OF_LOGITS = {
    "ForMaskedLM": "prediction_logits",
    "ForNextSentencePrediction": "seq_relationship_logits",
}
LABELS = {"id2label": {0: "no", 1: "maybe", 2: "yes"}}
REGRESSION = {"problem_type": "regression", "id2label": {0: "x"}}
MULTI_LABEL = {"problem_type": "multi_label_classification"}
OTHER_HEAD = {"classifier_bias": True, "classifier_activation": "relu"}
UNTIED = {"tie_word_embeddings": False, "norm_bias": True}
HEAD_VARIANTS = [
    ("bert", "ForSequenceClassification", REGRESSION),
    ("roberta", "ForSequenceClassification", MULTI_LABEL),
    ("deberta-v2", "ForSequenceClassification", {"pooler_hidden_act": "tanh"}),
    ("deberta-v2", "ForMaskedLM", {"legacy": False}),
    ("deberta-v2", "ForMaskedLM", {"embedding_size": 8}),
    ("bert", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("bert", "ForPreTraining", {"tie_word_embeddings": False}),
    ("roberta", "ForMaskedLM", {"tie_word_embeddings": False, "hidden_act": "relu"}),
    ("albert", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("distilbert", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("electra", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("electra", "ForMaskedLM", {"embedding_size": 16}),
    ("electra", "ForPreTraining", {"hidden_act": "silu"}),
    ("deberta", "ForMaskedLM", {"legacy": False}),
    ("modernbert", "ForSequenceClassification", {"classifier_pooling": "mean"}),
    ("modernbert", "ForSequenceClassification", {**OTHER_HEAD, **REGRESSION}),
    ("modernbert", "ForMultipleChoice", {"classifier_pooling": "mean", **OTHER_HEAD}),
    ("modernbert", "ForTokenClassification", OTHER_HEAD),
    ("modernbert", "ForQuestionAnswering", {"norm_bias": True}),
    ("modernbert", "ForMaskedLM", {"decoder_bias": False, **OTHER_HEAD}),
    ("modernbert", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("modernbert", "ForMaskedLM", {**UNTIED, "decoder_bias": False}),
    ("nomic_bert", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("gte", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("gte", "ForSequenceClassification", {**MULTI_LABEL, "type_vocab_size": 0}),
    ("jina_embeddings_v3", "ForMaskedLM", {"tie_word_embeddings": False}),
    ("eurobert", "ForMaskedLM", {"tie_word_embeddings": True}),
    ("eurobert", "ForMaskedLM", {"tie_word_embeddings": True, "mlp_bias": True}),
    ("eurobert", "ForMaskedLM", {"mlp_bias": True}),
    ("eurobert", "ForSequenceClassification", {"classifier_pooling": "bos"}),
    ("eurobert", "ForSequenceClassification", {"classifier_pooling": "mean"}),
]  # fmt: skip


def cases():
    """Yields `(name, family, suffix, configuration)` of every checkpoint."""
    for family, (prefix, base, unusual) in FAMILIES.items():
        yield f"{family}-Model", family, "Model", base
        for i, changes in enumerate([*unusual, one_head(base)]):
            yield f"{family}-Model-{i}", family, "Model", {**base, **changes}
        for suffix in HEADS:
            if hasattr(transformers, prefix + suffix):
                yield f"{family}-{suffix}", family, suffix, {**base, **labels(suffix)}
    for i, (family, suffix, changes) in enumerate(HEAD_VARIANTS):
        base = FAMILIES[family][1]
        changes = {**labels(suffix), **changes}
        yield f"{family}-{suffix}-{i}", family, suffix, {**base, **changes}


def one_head(base):
    """Returns the changes with which a configuration has one head."""
    names = ("num_attention_heads", "n_heads", "num_key_value_heads")
    return {name: 1 for name in names if name in base}


def labels(suffix):
    return LABELS if "Classification" in suffix else {}


def reference(family, suffix, configuration, scale=1.0):
    """Returns the model of transformers, with weights that follow from their names.

    `scale` multiplies the matrices. With 0.5, the float32 rounding of long rows stays
    below 1e-5; with 1, transformers' own exceeds it.
    """
    model_class = getattr(transformers, FAMILIES[family][0] + suffix)
    model = model_class(model_class.config_class(**configuration))
    shapes = {name: x.shape for name, x in stored(model).items()}
    with tempfile.TemporaryDirectory() as directory:
        raw = model.config.to_dict()
        checkpoints.write(Path(directory), raw, shapes, scale)
        return model_class.from_pretrained(
            directory, attn_implementation="eager"
        ).eval()


def stored(model):
    """Returns the tensors that transformers stores: tied ones under one name."""
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        return safetensors.numpy.load_file(Path(directory) / "model.safetensors")


def inputs_for(model, suffix, length=9):
    """Returns ids that the model takes."""
    config = model.config
    segments = getattr(config, "type_vocab_size", 1)
    choices = suffix == "ForMultipleChoice"
    return checkpoints.ids(config.pad_token_id, segments, choices, length)


def outputs(model, inputs, suffix):
    """Returns what transformers computes, by our names."""
    arguments = {
        "input_ids": torch.from_numpy(inputs["token_ids"]).long(),
        "attention_mask": torch.from_numpy(inputs["padding_mask"]).long(),
    }
    if hasattr(model.config, "type_vocab_size"):
        arguments["token_type_ids"] = torch.from_numpy(inputs["segment_ids"]).long()
    with torch.no_grad():
        result = model(**arguments, output_hidden_states=True, output_attentions=True)
    names = {
        "last_hidden_state": "sequence_output",
        "pooler_output": "pooled_output",
        "logits": "logits",
        "prediction_logits": "prediction_logits",
        "seq_relationship_logits": "seq_relationship_logits",
        "sop_logits": "seq_relationship_logits",
        "start_logits": "start_logits",
        "end_logits": "end_logits",
    }
    found = {ours: result[x].numpy() for x, ours in names.items() if x in result}
    name = NAMES_OF_LOGITS.get(suffix)
    if name and "logits" in found:
        found[name] = found.pop("logits")
    if suffix != "ForMultipleChoice":
        for i, states in enumerate(result["hidden_states"]):
            found[f"hidden_states/{i}"] = states.numpy()
        for i, weights in enumerate(result["attentions"]):
            found[f"attentions/{i}"] = weights.numpy()
    mask = inputs["padding_mask"]
    return {name: checkpoints.real(name, x, mask) for name, x in found.items()}
