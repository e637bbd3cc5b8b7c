"""Encoder configurations and the published sizes."""

import json

import keras
import pytest

import keras_bert_lite as kbl
from tests import tiny

PUBLISHED = {
    "bert_base_uncased": 109_482_240,
    "bert_large_uncased": 335_141_888,
    "bert_base_cased": 108_310_272,
    "bert_base_multilingual_cased": 177_853_440,
    "bert_tiny_uncased": 4_385_920,
    "bert_mini_uncased": 11_170_560,
    "bert_small_uncased": 28_763_648,
    "bert_medium_uncased": 41_373_184,
    "roberta_base": 124_645_632,
    "roberta_large": 355_359_744,
    "distilbert_base_uncased": 66_362_880,
    "albert_base_v2": 11_683_584,
    "albert_large_v2": 17_683_968,
    "albert_xlarge_v2": 58_724_864,
    "albert_xxlarge_v2": 222_595_584,
    "electra_small": 13_483_008,
    "electra_base": 108_891_648,
    "electra_large": 334_092_288,
}
MINIATURES = [
    (num_layers, hidden_dim)
    for num_layers in (2, 4, 6, 8, 10, 12)
    for hidden_dim in (128, 256, 512, 768)
]


def parameters(config: kbl.EncoderConfig) -> int:
    """The number of parameters of an encoder, by arithmetic."""
    hidden, inner = config.hidden_dim, config.intermediate_dim
    width = config.embedding_dim or hidden
    positions = config.max_sequence_length + config.position_offset
    rows = config.vocabulary_size + positions + config.num_segments
    projection = 0 if config.embedding_dim is None else (width + 1) * hidden
    attention = 4 * (hidden + 1) * hidden
    feed_forward = (hidden + 1) * inner + (inner + 1) * hidden
    blocks = config.num_groups or config.num_layers
    pooler = {"cls_dense": (hidden + 1) * hidden, "attention": hidden + 1}
    return (
        (rows + 2) * width
        + projection
        + blocks * (attention + feed_forward + 4 * hidden)
        + pooler.get(config.pooling, 0)
    )


def count(config: kbl.EncoderConfig) -> int:
    """The number of parameters of an encoder that is built without memory."""
    with keras.StatelessScope(initialize_variables=False):
        total = kbl.encoder(config).count_params()
    keras.utils.clear_session()
    return total


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="torch needs the values of weights"
)
@pytest.mark.parametrize(("name", "expected"), PUBLISHED.items())
def test_published_sizes_have_the_published_parameters(name, expected):
    config = kbl.EncoderConfig.named(name)
    assert parameters(config) == expected
    assert count(config) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"embedding_dim": 4},
        {"num_groups": 1, "num_layers": 3},
        {"pooling": "attention"},
        {"pooling": "mean"},
        {"pooling": None},
    ],
)
def test_parameters_are_what_the_arithmetic_says(changes):
    config = tiny.config(**changes)
    assert kbl.encoder(config).count_params() == parameters(config)


def test_every_published_size_is_a_configuration():
    for name in kbl.EncoderConfig.names():
        config = kbl.EncoderConfig.named(name)
        assert kbl.EncoderConfig(**json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_groups": 5}, "`num_groups` must divide `num_layers`. Received"),
        ({"num_segments": -1}, "`num_segments` must be a whole number"),
        ({"position_offset": 1.5}, "`position_offset` must be a whole number"),
        ({"family": "gpt2"}, "`family` must be one of .* Received: 'gpt2'"),
        ({"relative_positions": 3}, "`relative_positions` must be .* Received: 3"),
        (
            {"relative_positions": {"max_distance": 8, "terms": ["p2p"]}},
            r"`terms` must be a list of some of .* Received: \['p2p'\]",
        ),
        ({"num_task_types": -1}, "`num_task_types` must be a whole number"),
        ({"convolution_size": 2}, "`convolution_size` must be odd or 0. Received: 2"),
        (
            {"convolution_size": 3, "convolution_groups": 5},
            "`convolution_groups` must divide `hidden_dim`. Received: .*=5, hidden_dim",
        ),
    ],
)
def test_refuses_values_of_the_family(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny.config(**changes)


ROTARY = {"base": 1e4, "local_base": None}
LOCAL = {"window": 8, "global_every": 3}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norms": None}, "`norms` must be `Norms`. Received: None"),
        ({"norms": {"rms": True}}, "`bias` must be False with `rms`. Received: True"),
        ({"num_key_value_heads": 3}, "`num_key_value_heads` must divide .*num_heads=2"),
        (
            {"num_key_value_heads": 1, "relative_positions": {"max_distance": 8}},
            "`num_key_value_heads` must be None with `relative_positions`.*: 1",
        ),
        ({"norms": {"before": 1}}, "`before` must be True or False. Received: 1"),
        ({"biases": {"key": None}}, "`key` must be True or False. Received: None"),
        ({"gated": "yes"}, "`gated` must be True or False. Received: 'yes'"),
        ({"rotary": 1e4}, "`rotary` must be `Rotary`. Received: 10000.0"),
        ({"rotary": {"base": 0}}, "`base` must be a positive number. Received: 0"),
        ({"rotary": {"local_base": -1.0}}, "`local_base` must be .* Received: -1.0"),
        ({"rotary": {"scale": 0}}, "`scale` must be a positive number. Received: 0"),
        ({"rotary": {"share": 1.5}}, "`share` must be at most 1. Received: 1.5"),
        (
            {"rotary": ROTARY, "hidden_dim": 6},
            "`rotary` needs heads of an even size.*hidden_dim=6, num_heads=2",
        ),
        (
            {"rotary": ROTARY, "relative_positions": {"max_distance": 8}},
            "`rotary` must be None with `relative_positions`.*Received: Rotary",
        ),
        ({"relative_bias": 32}, "`relative_bias` must be `RelativeBias`.*: 32"),
        ({"relative_bias": {"num_buckets": 6}}, "multiple of 4.*num_buckets=6"),
        ({"relative_bias": {"max_distance": 8}}, "`max_distance`. .*max_distance=8"),
        ({"relative_bias": {"max_distance": 0}}, "`max_distance` must be .*: 0"),
        ({"local_attention": {"window": 0}}, "`window` must be a positive .*: 0"),
        ({"local_attention": {"global_every": 0}}, "`global_every` must be .*: 0"),
        (
            {"local_attention": LOCAL, "num_groups": 1},
            "`num_groups` must be None with `local_attention`. Received: num_groups=1",
        ),
    ],
)
def test_refuses_parts(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny.config(**changes)


def test_parts_go_through_json():
    config = tiny.config(
        relative_bias={"num_buckets": 8},
        rotary=ROTARY,
        local_attention=LOCAL,
        norms={"before": True, "bias": False},
        biases={"key": False},
        gated=True,
        num_task_types=2,
    )
    again = kbl.EncoderConfig(**json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.norms.after
    assert not again.biases.key


def test_layers_are_global_or_local():
    rotary = {"base": 2e4, "local_base": 1e4}
    config = tiny.config(num_layers=5, local_attention=LOCAL, rotary=rotary)
    assert [config.window(i) for i in range(5)] == [None, 8, 8, None, 8]
    assert [config.rotary_base(i) for i in range(3)] == [2e4, 1e4, 1e4]
    assert config.replace(rotary=ROTARY).rotary_base(1) == 1e4
    plain = tiny.config()
    assert plain.window(1) is None
    assert plain.rotary_base(1) is None


@pytest.mark.parametrize(("num_layers", "hidden_dim"), MINIATURES)
def test_miniatures(num_layers, hidden_dim):
    name = f"bert_l{num_layers}_h{hidden_dim}_uncased"
    config = kbl.EncoderConfig.named(name)
    assert config.num_layers == num_layers
    assert config.hidden_dim == hidden_dim
    assert config.num_heads == hidden_dim // 64
    assert config.intermediate_dim == 4 * hidden_dim


@pytest.mark.parametrize(
    ("name", "miniature"),
    [
        ("bert_tiny_uncased", "bert_l2_h128_uncased"),
        ("bert_mini_uncased", "bert_l4_h256_uncased"),
        ("bert_small_uncased", "bert_l4_h512_uncased"),
        ("bert_medium_uncased", "bert_l8_h512_uncased"),
        ("bert_base_uncased", "bert_l12_h768_uncased"),
    ],
)
def test_names_of_miniatures(name, miniature):
    assert kbl.EncoderConfig.named(name) == kbl.EncoderConfig.named(miniature)


def test_every_name_is_a_valid_configuration():
    names = kbl.EncoderConfig.names()
    assert len(names) == len(set(names)) == 40 + len(MINIATURES)
    for name in names:
        assert kbl.EncoderConfig.named(name).num_heads >= 2


def test_dictionaries_go_through_json():
    config = tiny.config(embedding_dim=4, num_groups=1, pooling=None)
    assert kbl.EncoderConfig(**json.loads(json.dumps(config.to_dict()))) == config


def test_replace_changes_a_copy():
    config = tiny.config()
    changed = config.replace(num_layers=5, pooling="mean")
    assert (changed.num_layers, changed.pooling) == (5, "mean")
    assert changed.replace(num_layers=2, pooling="cls_dense") == config
    with pytest.raises(AttributeError):
        config.num_layers = 5


def test_named_takes_changes():
    config = kbl.EncoderConfig.named("bert_tiny_uncased", pooling="max")
    assert config.replace(pooling="cls_dense") == kbl.EncoderConfig.named(
        "bert_tiny_uncased"
    )


def test_refuses_unknown_names():
    with pytest.raises(ValueError, match=r"`name` must be one of .*'bert_huge'"):
        kbl.EncoderConfig.named("bert_huge")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vocabulary_size", 0),
        ("num_layers", -1),
        ("num_layers", True),
        ("num_heads", 3),
        ("hidden_dim", 16.0),
        ("intermediate_dim", None),
        ("embedding_dim", 0),
        ("max_sequence_length", "24"),
        ("num_segments", -1),
        ("dropout", 1),
        ("attention_dropout", -0.1),
        ("layer_norm_epsilon", 0),
        ("layer_norm_epsilon", float("inf")),
        ("layer_norm_epsilon", "1e-12"),
        ("initializer_range", -0.02),
        ("initializer_range", float("nan")),
        ("initializer_range", True),
        ("activation", "swish"),
        ("pooling", "first_token"),
    ],
)
def test_refuses_fields_out_of_range(field, value):
    with pytest.raises(ValueError, match=f"`{field}` must .*Received: .*{value}"):
        tiny.config(**{field: value})
    with pytest.raises(ValueError, match=f"`{field}` must .*Received: .*{value}"):
        tiny.config().replace(**{field: value})
