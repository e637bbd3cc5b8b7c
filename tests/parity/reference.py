"""Tiny checkpoints of every architecture, and what transformers makes of them."""

import hashlib

import numpy as np
import torch
import transformers

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
    "deberta-v2": (
        "DebertaV2",
        DEBERTA,
        [
            {"share_att_key": False, "norm_rel_ebd": "none", "position_buckets": -1},
            {"conv_kernel_size": 3, "conv_act": "gelu", "pos_att_type": "p2c|c2p"},
            {"position_biased_input": True, "type_vocab_size": 2, "pos_att_type": "c2p"},
            {"embedding_size": 8, "max_relative_positions": 6, "position_buckets": 0},
            {
                "relative_attention": False,
                "pos_att_type": None,
                "norm_rel_ebd": "none",
            },
        ],
    ),
}
HEADS = (
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForQuestionAnswering",
    "ForMultipleChoice",
    "ForMaskedLM",
    "ForPreTraining",
    "ForNextSentencePrediction",
)
LABELS = {"id2label": {0: "no", 1: "maybe", 2: "yes"}}
HEAD_VARIANTS = [
    ("bert", "ForSequenceClassification", {"problem_type": "regression", "id2label": {0: "x"}}),
    ("roberta", "ForSequenceClassification", {"problem_type": "multi_label_classification"}),
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
]  # fmt: skip


def cases():
    """Yields `(name, family, suffix, configuration)` of every checkpoint."""
    for family, (prefix, base, unusual) in FAMILIES.items():
        yield f"{family}-Model", family, "Model", base
        for i, changes in enumerate(unusual):
            yield f"{family}-Model-{i}", family, "Model", {**base, **changes}
        for suffix in HEADS:
            if hasattr(transformers, prefix + suffix):
                yield f"{family}-{suffix}", family, suffix, {**base, **labels(suffix)}
    for i, (family, suffix, changes) in enumerate(HEAD_VARIANTS):
        base = FAMILIES[family][1]
        changes = {**labels(suffix), **changes}
        yield f"{family}-{suffix}-{i}", family, suffix, {**base, **changes}


def labels(suffix):
    return LABELS if "Classification" in suffix else {}


def values(name, shape):
    """The value of a weight: random, but the same for the same name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    scale = 0.3 if len(shape) > 1 else 0.2
    offset = 1.0 if "orm.weight" in name else 0.0
    noise = np.random.default_rng(seed).normal(0, scale, shape)
    return (noise + offset).astype(np.float32)


def reference(family, suffix, configuration):
    """Returns the model of transformers, with weights that `values` gives."""
    model_class = getattr(transformers, FAMILIES[family][0] + suffix)
    config = model_class.config_class(**configuration)
    config._attn_implementation = "eager"
    model = model_class(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            value = values(name, tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(value))
    return model


def ids(configuration, choices=False):
    """Ids with padding on the right; none of real tokens is the padding's."""
    rng = np.random.default_rng(5)
    padding_id = configuration.get("pad_token_id", 1)
    shape = (2, 3, 9) if choices else (3, 9)
    tokens = rng.integers(4, 40, shape)
    mask = np.ones(shape, bool)
    mask[..., 1, 6:] = False
    mask[..., 2, 3:] = False
    segments = rng.integers(0, 2, shape)
    if configuration.get("type_vocab_size", 2) < 2 or "dim" in configuration:
        segments[:] = 0
    return {
        "token_ids": np.where(mask, tokens, padding_id).astype(np.int32),
        "segment_ids": np.where(mask, segments, 0).astype(np.int32),
        "padding_mask": mask,
    }


def outputs(model, inputs):
    """Returns what transformers computes, by our names."""
    arguments = {
        "input_ids": torch.from_numpy(inputs["token_ids"]).long(),
        "attention_mask": torch.from_numpy(inputs["padding_mask"]).long(),
    }
    if "distilbert" not in model.config.model_type:
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
    if "hidden_states" in result:
        for i, states in enumerate(result["hidden_states"]):
            found[f"hidden_states/{i}"] = states.numpy()
        for i, weights in enumerate(result["attentions"]):
            found[f"attentions/{i}"] = weights.numpy()
    return found
