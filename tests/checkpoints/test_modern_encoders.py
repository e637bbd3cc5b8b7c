"""Configurations of ModernBERT and its relatives: read, written, refused."""

import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.core.name_table import model_parts, targets
from keras_bert_lite.checkpoints.hugging_face.families import LAYOUTS
from keras_bert_lite.checkpoints.hugging_face.names import ENCODER_PARTS
from keras_bert_lite.config import LocalAttention, Rotary
from tests.checkpoints.family_cases import CASES
from tests.families import checkpoints

MODERN = ("modernbert", "nomic_bert", "gte", "jina_embeddings_v3", "eurobert")
ROPE = "rope_parameters"
GLOBAL, LOCAL = "full_attention", "sliding_attention"


def written(directory, name="modernbert-Model", **changes):
    """Returns a directory with a checkpoint, some fields of it changed."""
    case = CASES[name]
    configuration = {**case["configuration"], **changes}
    return checkpoints.write(directory, configuration, case["tensors"])


def loaded(directory, family, **changes):
    return kbl.load_encoder(written(directory, f"{family}-Model", **changes))


def saved(model, directory):
    kbl.save_hugging_face(model, None, directory)
    return json.loads((directory / "config.json").read_text())


REFUSED = [
    ({"local_attention": 0}, "`local_attention` must be a positive integer.*: 0"),
    ({"local_attention": -128}, "`local_attention` must be .*Received: -128"),
    ({"global_attn_every_n_layers": 0}, "`global_attn_every_n_layers` must be .*: 0"),
    ({"global_rope_theta": 0}, "`rope_theta` must be a positive number. Received: 0"),
    ({"local_rope_theta": None}, "`rope_theta` must be .* Received: None"),
    ({"num_attention_heads": 16}, "heads of an even size.*num_heads=16"),
    ({"layer_types": [GLOBAL] * 2}, "`layer_types` must be a list of 3 names"),
    ({"layer_types": [LOCAL, GLOBAL, LOCAL]}, "`layer_types` must be 'full_attention'"),
    ({"layer_types": ["chunked"] * 3}, "`layer_types` must be .*'chunked'"),
    ({ROPE: {"rope_theta": 1e4}}, "`rope_parameters` must map .*'sliding_attention'"),
    ({ROPE: {GLOBAL: {"rope_type": "yarn"}}}, "`rope_type` must be one of .*'yarn'"),
    ({ROPE: {GLOBAL: {"rope_type": "linear"}}}, "`factor` must be .* Received: None"),
    (
        {ROPE: {GLOBAL: {"rope_type": "linear", "factor": 2.0}}},
        "`rope_parameters` must scale both kinds of layers alike",
    ),
    (
        {ROPE: {GLOBAL: {"partial_rotary_factor": 0.5}}},
        "`partial_rotary_factor` must be 1 unless .* Received: 0.5",
    ),
    ({"mlp_dropout": 0.1}, "`mlp_dropout` must be `embedding_dropout`, 0.0.*: 0.1"),
    ({"norm_bias": "no"}, "`norm_bias` must be True or False. Received: 'no'"),
    ({"hidden_activation": "mish"}, "`hidden_activation` must be one of .*'mish'"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_modernbert_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        kbl.load_encoder(written(tmp_path, **changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classifier_pooling": "max"}, "`classifier_pooling` must be one of .*'max'"),
        ({"classifier_bias": 1}, "`classifier_bias` must be True or False. .*: 1"),
    ],
)
def test_heads_of_modernbert_are_refused(tmp_path, changes, message):
    name = "modernbert-ForSequenceClassification"
    with pytest.raises(ValueError, match=message):
        kbl.load_model(written(tmp_path, name, **changes))


@pytest.mark.parametrize(
    ("changes", "local", "rotary"),
    [
        ({}, LocalAttention(window=4), Rotary()),
        (
            {"global_attn_every_n_layers": 2, "local_rope_theta": 160_000.0},
            LocalAttention(window=4, global_every=2),
            Rotary(local_base=None),
        ),
        ({"layer_types": [GLOBAL] * 3}, None, Rotary()),
        (
            {ROPE: {GLOBAL: {"rope_theta": 7.0}, LOCAL: None}},
            LocalAttention(window=4),
            Rotary(base=7.0),
        ),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            LocalAttention(window=4),
            Rotary(scale=2.0),
        ),
    ],
)
def test_layers_and_rotations_of_modernbert(tmp_path, changes, local, rotary):
    encoder = kbl.load_encoder(written(tmp_path, **changes))
    found = encoder.get_layer("blocks").config
    assert (found.local_attention, found.rotary) == (local, rotary)
    kbl.save_hugging_face(encoder, None, tmp_path / "out")
    assert kbl.load_encoder(tmp_path / "out").get_layer("blocks").config == found


def test_published_sizes():
    base, large = (
        kbl.EncoderConfig.named(f"modernbert_{size}") for size in ("base", "large")
    )
    assert (base.num_layers, large.num_layers) == (22, 28)
    assert [base.window(i) for i in range(4)] == [None, 128, 128, None]
    assert [base.rotary_base(i) for i in range(2)] == [160_000.0, 10_000.0]
    assert (base.num_positions, base.max_sequence_length) == (0, 8192)
    assert large.intermediate_dim == 2624


def tiny(**changes):
    sizes = {
        "vocabulary_size": 40,
        "num_layers": 3,
        "num_heads": 2,
        "hidden_dim": 8,
        "intermediate_dim": 6,
    }
    return kbl.encoder(
        kbl.EncoderConfig.named("modernbert_base", **{**sizes, **changes})
    )


def test_new_heads_are_those_of_transformers(tmp_path):
    encoder = tiny()
    labels = ["no", "yes"]
    built = {
        "ForSequenceClassification": kbl.text_classifier(encoder, labels),
        "ForTokenClassification": kbl.token_classifier(encoder, labels),
        "ForQuestionAnswering": kbl.question_answerer(encoder),
        "ForMultipleChoice": kbl.multiple_choice(encoder),
        "ForMaskedLM": kbl.masked_lm(encoder),
    }
    for suffix, model in built.items():
        raw = saved(model, tmp_path / suffix)
        assert raw["architectures"] == [f"ModernBert{suffix}"]
        assert raw["classifier_bias"] is False
        assert raw["classifier_activation"] == "gelu"
        expected = CASES[f"modernbert-{suffix}"]["tensors"]
        assert sorted(load_file(tmp_path / suffix / "model.safetensors")) == sorted(
            expected
        )


def test_the_mean_is_saved_as_a_pooling(tmp_path):
    model = kbl.text_classifier(tiny(), ["no", "yes"], pooling="mean")
    assert saved(model, tmp_path / "mean")["classifier_pooling"] == "mean"
    model = kbl.text_classifier(tiny(), ["no", "yes"])
    assert saved(model, tmp_path / "cls")["classifier_pooling"] == "cls"


@pytest.mark.parametrize("pooling", ["max", "attention"])
def test_other_poolings_are_not_saved(tmp_path, pooling):
    model = kbl.text_classifier(tiny(), ["no", "yes"], pooling=pooling)
    with pytest.raises(ValueError, match=f"Received: pooling='{pooling}'"):
        kbl.save_hugging_face(model, None, tmp_path / "out")


def test_heads_without_the_hidden_layer_are_not_saved(tmp_path):
    model = kbl.token_classifier(tiny(), ["no", "yes"], head_form={})
    with pytest.raises(ValueError, match=r"without .'head.hidden_dense', "):
        kbl.save_hugging_face(model, None, tmp_path / "out")


def test_heads_that_transformers_lacks_are_not_saved(tmp_path):
    model = kbl.pretraining.bert_pretrainer(tiny(pooling="cls_dense"))
    with pytest.raises(ValueError, match="has no ModernBertForPreTraining"):
        kbl.save_hugging_face(model, None, tmp_path / "out")


def test_other_encoders_are_not_saved(tmp_path):
    for changes, message in (
        ({"biases": {"query": False}}, "`biases` must be"),
        ({"gated": False}, "`gated` must be True. Received: False"),
        ({"rotary": None}, "`rotary` must be"),
    ):
        with pytest.raises(ValueError, match=message):
            kbl.save_hugging_face(tiny(**changes), None, tmp_path / "out")


def test_kept_layers_stay_global_or_local():
    encoder = tiny(num_layers=7)
    smaller = kbl.surgery.keep_layers(encoder, [0, 4, 5, 6])
    blocks = smaller.get_layer("blocks")
    assert [blocks.config.window(i) for i in range(4)] == [None, 128, 128, None]
    for layers, message in (
        ([0, 3], "layer 3 in place 1"),
        ([3, 4], "layer 3 in place 0"),
    ):
        with pytest.raises(ValueError, match=message):
            kbl.surgery.keep_layers(encoder, layers)


@pytest.mark.parametrize("family", MODERN)
def test_keras_hub_has_none(family):
    encoder = tiny(family=family)
    with pytest.raises(ValueError, match="must be of a family that KerasHub has"):
        kbl.to_keras_hub(encoder)


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        ("modernbert", {"head_form": {}}, "without .'prediction_transform.dense'"),
        ("eurobert", {"head_form": {"hidden_bias": True}}, "must be False.*: True"),
        ("eurobert", {"output_bias": True}, "output_bias .* must be False.*: True"),
        ("nomic_bert", {"output_bias": False}, "output_bias .* must be True.*: False"),
        ("gte", {"head_form": {"hidden_bias": False}}, "use_bias .* must be True"),
    ],
)
def test_other_heads_of_words_are_not_saved(tmp_path, family, options, message):
    model = kbl.masked_lm(loaded(tmp_path, family), **options)
    with pytest.raises(ValueError, match=message):
        kbl.save_hugging_face(model, None, tmp_path / "out")


@pytest.mark.parametrize(
    ("family", "builder", "suffix"),
    [
        ("nomic_bert", kbl.question_answerer, "ForQuestionAnswering"),
        ("nomic_bert", kbl.multiple_choice, "ForMultipleChoice"),
        ("gte", kbl.question_answerer, "ForQuestionAnswering"),
        ("gte", kbl.multiple_choice, "ForMultipleChoice"),
        ("jina_embeddings_v3", kbl.multiple_choice, "ForMultipleChoice"),
        ("eurobert", kbl.question_answerer, "ForQuestionAnswering"),
        ("eurobert", kbl.multiple_choice, "ForMultipleChoice"),
    ],
)
def test_tasks_that_transformers_lacks_are_not_saved(tmp_path, family, builder, suffix):
    model = builder(loaded(tmp_path, family))
    with pytest.raises(ValueError, match=rf"transformers has no \w+{suffix}"):
        kbl.save_hugging_face(model, None, tmp_path / "out")


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("nomic_bert", {"rope_theta": 0}, "`rope_theta` must be a positive .*: 0"),
        ("nomic_bert", {ROPE: {"rope_type": "dynamic"}}, "`rope_type` .*'dynamic'"),
        ("nomic_bert", {ROPE: [1]}, "`rope_parameters` must be a mapping"),
        ("nomic_bert", {"head_dim": 8}, "`head_dim` must be 4. Received: 8"),
        ("gte", {"rope_scaling": {"type": "ntk"}}, "`rope_type` must be .*'ntk'"),
        ("gte", {"partial_rotary_factor": 0.5}, "`partial_rotary_factor` must be 1"),
        ("jina_embeddings_v3", {"num_attention_heads": 16}, "heads of an even size"),
        ("eurobert", {"num_key_value_heads": 3}, "must divide `num_heads`.*=3"),
        ("eurobert", {"num_key_value_heads": 0}, "`num_key_value_heads` must be .*: 0"),
        ("eurobert", {"attention_bias": 1}, "`attention_bias` must be True or False"),
    ],
)
def test_relatives_are_refused(tmp_path, family, changes, message):
    with pytest.raises(ValueError, match=message):
        loaded(tmp_path, family, **changes)


@pytest.mark.parametrize("family", ["nomic_bert", "gte", "jina_embeddings_v3"])
def test_the_modules_of_transformers_are_read_too(tmp_path, family):
    name = f"{family}-ForMaskedLM"
    model = kbl.load_model(written(tmp_path, name))
    layout = LAYOUTS[family]
    names = {**layout.modules, **model_head(family)}
    tensors = {
        f"{layout.prefix}{key}" if key.startswith(ENCODER_PARTS) else key: x.read()
        for key, x in targets(names, model_parts(model)).items()
    }
    assert any("self_attn.q_proj" in key for key in tensors)
    save_file(tensors, tmp_path / "model.safetensors")
    again = kbl.load_model(tmp_path)
    for ours, theirs in zip(again.weights, model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def model_head(family):
    """The names of the head in transformers."""
    names = LAYOUTS[family].heads["ForMaskedLM"].names
    stored = {name: alias for alias, name in LAYOUTS[family].aliases.items()}
    return {stored.get(name, name): path for name, path in names.items()}


@pytest.mark.parametrize("family", MODERN)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_sentence_encoders(tmp_path, family, pooling):
    model = kbl.sentence_encoder(loaded(tmp_path, family), pooling)
    kbl.save_hugging_face(model, None, tmp_path / "out")
    again = kbl.load_model(tmp_path / "out")
    inputs = checkpoints.ids(0, 1)
    expected, found = (x(inputs)["sentence_embedding"] for x in (model, again))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pooling", ["late", "mean", None])
def test_poolings_of_eurobert(tmp_path, pooling):
    encoder = loaded(tmp_path, "eurobert")
    model = kbl.text_classifier(encoder, ["no", "yes"], pooling=pooling)
    names = {"late": "late", "mean": "mean", None: "bos"}
    assert saved(model, tmp_path / "out")["classifier_pooling"] == names[pooling]


def test_late_pooling_is_the_mean_of_logits(tmp_path):
    model = kbl.load_model(written(tmp_path, "eurobert-ForSequenceClassification"))
    inputs = checkpoints.ids(0, 1)
    states = kbl.encoder_of(model)(inputs)["sequence_output"]
    logits = keras.ops.convert_to_numpy(model.get_layer("head")(states))
    found = keras.ops.convert_to_numpy(model(inputs)["logits"])
    for row, mask in enumerate(inputs["padding_mask"]):
        expected = logits[row][mask].mean(axis=0)
        np.testing.assert_allclose(found[row], expected, atol=1e-5)
    encoder = kbl.encoder_of(model)
    for option in ({"windows": "mean"}, {"compare": True}):
        with pytest.raises(ValueError, match="`pooling` must not be 'late' with"):
            kbl.text_classifier(encoder, ["a", "b"], pooling="late", **option)
    with pytest.raises(ValueError, match="Received: 'late'"):
        kbl.multiple_choice(encoder, pooling="late")


def test_longer_rows_and_a_longer_limit():
    encoder = tiny(max_sequence_length=6)
    rows = {
        "token_ids": np.ones((1, 20), "int32"),
        "segment_ids": np.zeros((1, 20), "int32"),
        "padding_mask": np.ones((1, 20), bool),
    }
    expected = encoder(rows)["sequence_output"]
    longer = kbl.surgery.resize(encoder, max_sequence_length=20)
    assert longer.get_layer("blocks").config.max_sequence_length == 20
    np.testing.assert_array_equal(longer(rows)["sequence_output"], expected)
