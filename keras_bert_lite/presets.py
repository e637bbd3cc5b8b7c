"""The published configurations, as arguments of `EncoderConfig`.

The sizes are those of the authors' releases: the README of google-research/bert (with
the 24 miniatures of [Turc et al., 2019](https://arxiv.org/abs/1908.08962)) and the
configuration files of the other families.
"""

from typing import Any

# Sizes of the released vocabularies.
UNCASED = 30522
CASED = 28996
MULTILINGUAL_CASED = 119547
MULTILINGUAL_UNCASED = 105879
CHINESE = 21128
ROBERTA = 50265
XLM_ROBERTA = 250002
CAMEMBERT = 32005
MPNET = 30527
ALBERT = 30000
DEBERTA = 128100
DEBERTA_V1 = 50265
MULTILINGUAL_DEBERTA = 251000
MODERNBERT = 50368

ROBERTA_FAMILY: dict[str, Any] = {
    "position_offset": 2,
    "num_segments": 1,
    "layer_norm_epsilon": 1e-5,
}
DISTILBERT_FAMILY: dict[str, Any] = {
    "family": "distilbert",
    "num_segments": 0,
    "pooling": None,
}
ALBERT_FAMILY: dict[str, Any] = {
    "family": "albert",
    "embedding_dim": 128,
    "num_groups": 1,
    "activation": "gelu_tanh",
    "dropout": 0.0,
    "attention_dropout": 0.0,
}
MPNET_FAMILY: dict[str, Any] = {
    "family": "mpnet",
    "position_offset": 2,
    "num_segments": 0,
    "layer_norm_epsilon": 1e-5,
    "relative_bias": {"num_buckets": 32, "max_distance": 128},
}
ELECTRA_FAMILY: dict[str, Any] = {"family": "electra", "pooling": None}
DEBERTA_FAMILY: dict[str, Any] = {
    "family": "deberta-v2",
    "max_sequence_length": None,
    "num_segments": 0,
    "layer_norm_epsilon": 1e-7,
    "relative_positions": {"max_distance": 512, "buckets": 256},
    "pooling": None,
}
DEBERTA_V1_FAMILY: dict[str, Any] = {
    **DEBERTA_FAMILY,
    "family": "deberta",
    "relative_positions": {
        "max_distance": 512,
        "share_projections": False,
        "normalize": False,
    },
    "biases": {"key": False},
}
MODERNBERT_FAMILY: dict[str, Any] = {
    "family": "modernbert",
    "max_sequence_length": 8192,
    "num_segments": 0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "layer_norm_epsilon": 1e-5,
    "gated": True,
    "rotary": {"base": 160_000.0, "local_base": 10_000.0},
    "local_attention": {"window": 128, "global_every": 3},
    "norms": {
        "before": True,
        "after": False,
        "first": False,
        "final": True,
        "bias": False,
    },
    "biases": dict.fromkeys(
        ("query", "key", "value", "attention_output", "intermediate", "output"), False
    ),
    "pooling": None,
}


def _size(
    vocabulary_size: int, num_layers: int, hidden_dim: int, **fields: Any
) -> dict[str, Any]:
    return {
        "vocabulary_size": vocabulary_size,
        "num_layers": num_layers,
        "num_heads": hidden_dim // 64,
        "hidden_dim": hidden_dim,
        "intermediate_dim": 4 * hidden_dim,
        **fields,
    }


def _bert() -> dict[str, dict[str, Any]]:
    table = {
        "bert_base_uncased": _size(UNCASED, 12, 768),
        "bert_large_uncased": _size(UNCASED, 24, 1024),
        "bert_base_cased": _size(CASED, 12, 768),
        "bert_large_cased": _size(CASED, 24, 1024),
        "bert_base_multilingual_cased": _size(MULTILINGUAL_CASED, 12, 768),
        "bert_base_multilingual_uncased": _size(MULTILINGUAL_UNCASED, 12, 768),
        "bert_base_chinese": _size(CHINESE, 12, 768),
        "bert_tiny_uncased": _size(UNCASED, 2, 128),
        "bert_mini_uncased": _size(UNCASED, 4, 256),
        "bert_small_uncased": _size(UNCASED, 4, 512),
        "bert_medium_uncased": _size(UNCASED, 8, 512),
    }
    for num_layers in (2, 4, 6, 8, 10, 12):
        for hidden_dim in (128, 256, 512, 768):
            name = f"bert_l{num_layers}_h{hidden_dim}_uncased"
            table[name] = _size(UNCASED, num_layers, hidden_dim)
    return table


def _relatives() -> dict[str, dict[str, Any]]:
    roberta = {"family": "roberta", **ROBERTA_FAMILY}
    xlm = {"family": "xlm-roberta", **ROBERTA_FAMILY}
    camembert = {"family": "camembert", **ROBERTA_FAMILY}
    distil, albert, deberta = DISTILBERT_FAMILY, ALBERT_FAMILY, DEBERTA_FAMILY
    electra = {**ELECTRA_FAMILY, "embedding_dim": 128}
    modern = MODERNBERT_FAMILY
    convolution = {"convolution_size": 3, "convolution_activation": "gelu"}
    return {
        "roberta_base": _size(ROBERTA, 12, 768, **roberta),
        "roberta_large": _size(ROBERTA, 24, 1024, **roberta),
        "xlm_roberta_base": _size(XLM_ROBERTA, 12, 768, **xlm),
        "xlm_roberta_large": _size(XLM_ROBERTA, 24, 1024, **xlm),
        "data2vec_text_base": _size(
            ROBERTA, 12, 768, family="data2vec-text", **ROBERTA_FAMILY
        ),
        "camembert_base": _size(CAMEMBERT, 12, 768, **camembert),
        "camembert_large": _size(CAMEMBERT, 24, 1024, **camembert),
        "mpnet_base": _size(MPNET, 12, 768, **MPNET_FAMILY),
        "distilbert_base_uncased": _size(UNCASED, 6, 768, **distil),
        "distilbert_base_cased": _size(CASED, 6, 768, **distil),
        "distilbert_base_multilingual_cased": _size(
            MULTILINGUAL_CASED, 6, 768, **distil
        ),
        "albert_base_v2": _size(ALBERT, 12, 768, **albert),
        "albert_large_v2": _size(ALBERT, 24, 1024, **albert),
        "albert_xlarge_v2": _size(ALBERT, 24, 2048, **{**albert, "num_heads": 16}),
        "albert_xxlarge_v2": _size(ALBERT, 12, 4096, **albert),
        "electra_small": _size(UNCASED, 12, 256, **electra),
        "electra_base": _size(UNCASED, 12, 768, **ELECTRA_FAMILY),
        "electra_large": _size(UNCASED, 24, 1024, **ELECTRA_FAMILY),
        "deberta_base": _size(DEBERTA_V1, 12, 768, **DEBERTA_V1_FAMILY),
        "deberta_large": _size(DEBERTA_V1, 24, 1024, **DEBERTA_V1_FAMILY),
        "deberta_v3_xsmall": _size(DEBERTA, 12, 384, **deberta),
        "deberta_v3_small": _size(DEBERTA, 6, 768, **deberta),
        "deberta_v3_base": _size(DEBERTA, 12, 768, **deberta),
        "deberta_v3_large": _size(DEBERTA, 24, 1024, **deberta),
        "mdeberta_v3_base": _size(MULTILINGUAL_DEBERTA, 12, 768, **deberta),
        "deberta_v2_xlarge": _size(DEBERTA, 24, 1536, **deberta, **convolution),
        "deberta_v2_xxlarge": _size(DEBERTA, 48, 1536, **deberta, **convolution),
        "modernbert_base": _size(MODERNBERT, 22, 768, intermediate_dim=1152, **modern),
        "modernbert_large": _size(
            MODERNBERT, 28, 1024, intermediate_dim=2624, **modern
        ),
    }


PUBLISHED = _bert() | _relatives()
