"""Models taken over from KerasHub and handed to it, beside KerasHub's own."""

import functools
import json
import warnings

import keras
import keras_hub
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.keras_hub.exchange import from_keras_hub, to_keras_hub
from keras_bert_lite.checkpoints.keras_hub.families import check_buckets
from keras_bert_lite.checkpoints.keras_hub.preset_loading import load_preset
from keras_bert_lite.checkpoints.keras_hub.tokenizers import tokenizer_from_keras_hub
from keras_bert_lite.config import RelativePositions
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from tests import tiny
from tests.checkpoints.memory import peak

models = keras_hub.models
LENGTH, VOCABULARY = 12, 40
SIZES = {
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 16,
    "intermediate_dim": 24,
    "max_sequence_length": LENGTH,
}
PLAIN = {**SIZES, "vocabulary_size": VOCABULARY}
ELECTRA = {**SIZES, "vocab_size": VOCABULARY}
# KerasHub's prefix and our family, and arguments, usual and unusual.
FAMILIES = {"Bert": "bert", "Roberta": "roberta", "XLMRoberta": "xlm-roberta"}
FAMILIES |= {"DistilBert": "distilbert", "Albert": "albert", "Electra": "electra"}
FAMILIES |= {"DebertaV3": "deberta-v2"}
BACKBONES = {
    "Bert": PLAIN,
    "Bert-unusual": {**PLAIN, "num_segments": 1, "num_heads": 4, "dropout": 0.3},
    "Roberta": PLAIN,
    "XLMRoberta": {**PLAIN, "num_heads": 1},
    "DistilBert": {**PLAIN, "num_layers": 1},
    "Albert": {**PLAIN, "embedding_dim": 8},
    "Albert-groups": {**PLAIN, "embedding_dim": 16, "num_groups": 2, "num_layers": 4},
    "Electra": {**ELECTRA, "embedding_dim": 8, "num_segments": 3},
    "Electra-wide": {**ELECTRA, "embedding_dim": 16},
    "DebertaV3": {**PLAIN, "max_sequence_length": 24, "bucket_size": 8},
    "DebertaV3-odd": {**PLAIN, "max_sequence_length": 9, "bucket_size": 3},
}
WITH_TASKS = [x for x in FAMILIES if x != "Electra"]
MASK = np.arange(LENGTH) < np.array([LENGTH, 5, 1, 9])[:, None]


def inputs(segments=2, padding_id=0):
    rng = np.random.default_rng(1)
    ids = np.where(MASK, rng.integers(2, VOCABULARY, MASK.shape), padding_id)
    segment_ids = (np.arange(LENGTH) > 3) * np.ones_like(ids) * (segments > 1)
    return {
        "token_ids": ids.astype("int32"),
        "segment_ids": segment_ids.astype("int32"),
        "padding_mask": MASK,
    }


def outputs(model, **options):
    """The outputs at real tokens, of our models by name, of KerasHub's in order."""
    values = {
        **inputs(**options),
        "mask_positions": np.tile(np.arange(LENGTH, dtype="int32"), (len(MASK), 1)),
    }
    result = model({x.name: values[x.name] for x in model.inputs})
    result = result if isinstance(result, dict) else {"only": result}
    arrays = {k: keras.ops.convert_to_numpy(x) for k, x in result.items()}
    return {k: x[MASK] if x.ndim == 3 else x for k, x in arrays.items()}


def assert_same(ours, theirs):
    config = config_of(encoder_of(ours))
    options = {
        "segments": config.num_segments,
        "padding_id": max(config.position_offset - 1, 0),
    }
    got, wanted = outputs(ours, **options), outputs(theirs, **options)
    if "only" in wanted:
        (name,) = got
        wanted = {name: wanted["only"]}
    assert sorted(got) == sorted(wanted)
    for name in got:
        np.testing.assert_allclose(got[name], wanted[name], atol=1e-5)


def filled(model):
    rng = np.random.default_rng(0)
    for x in model.weights:
        x.assign(rng.normal("gamma" in x.path, 0.3, x.shape))
    return model


@functools.cache
def backbone(name="Bert", **changes):
    kind = getattr(models, name.split("-")[0] + "Backbone")
    return filled(kind(**{**BACKBONES[name], **changes}))


def task(kind, name="Bert", **options):
    model = getattr(models, name + kind)(backbone=backbone(name), **options)
    return filled(model)


def encoder(**changes):
    config = {**PLAIN, "activation": "gelu_tanh", **changes}
    return filled(kbl.encoder(kbl.EncoderConfig(**config)))


@pytest.mark.parametrize("name", BACKBONES)
def test_backbone_has_same_outputs_both_ways_and_same_weights_back(name):
    theirs = backbone(name)
    ours = from_keras_hub(theirs)
    assert config_of(ours).family == FAMILIES[name.split("-")[0]]
    assert_same(ours, theirs)
    back = to_keras_hub(ours)
    assert type(back) is type(theirs)
    assert_same(ours, back)
    assert {**back.get_config(), "name": 0} == {**theirs.get_config(), "name": 0}
    for got, wanted in zip(back.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("name", WITH_TASKS)
def test_classifier_has_same_logits(name):
    theirs = task("TextClassifier", name, num_classes=3)
    ours = from_keras_hub(theirs, labels=["bad", "fine", "great"])
    assert_same(ours, theirs)
    assert ours.get_layer("head").labels == ["bad", "fine", "great"]


@pytest.mark.parametrize("name", WITH_TASKS)
def test_masked_lm_has_same_logits_at_all_positions(name):
    theirs = task("MaskedLM", name)
    assert_same(from_keras_hub(theirs), theirs)


def test_classifier_has_rates_of_dropout():
    theirs = task("TextClassifier", "DebertaV3", num_classes=2, dropout=0.3)
    head = from_keras_hub(theirs).get_layer("head")
    assert (head.hidden_dropout.rate, head.dropout.rate) == (0.3, 0.1)
    head = from_keras_hub(task("TextClassifier", "DistilBert", num_classes=2))
    head = head.get_layer("head")
    assert (head.hidden_dropout.rate, head.dropout.rate) == (0.0, 0.2)
    assert head.labels == ["LABEL_0", "LABEL_1"]


def test_classifier_of_one_class_is_a_regressor():
    theirs = task("TextClassifier", num_classes=1)
    ours = from_keras_hub(theirs)
    assert ours.name == "regressor"
    assert_same(ours, theirs)


def test_roberta_of_hugging_face_form_has_same_outputs():
    ours = encoder(
        family="roberta",
        activation="gelu",
        layer_norm_epsilon=1e-5,
        num_segments=1,
        position_offset=2,
        pooling=None,
    )
    assert_same(ours, to_keras_hub(ours))


def test_backbone_of_model_with_head():
    body = encoder()
    model = kbl.text_classifier(body, ["bad", "fine"])
    assert_same(body, to_keras_hub(model))


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")
def test_missing_pooler_starts_anew_with_a_warning():
    ours = encoder(family="electra", pooling=None)
    with pytest.warns(UserWarning, match="has no pooler"):
        theirs = to_keras_hub(ours)
    got = outputs(theirs)["sequence_output"]
    np.testing.assert_allclose(outputs(ours)["sequence_output"], got, atol=1e-5)


def test_other_activation_is_a_choice_of_the_user():
    ours = encoder(activation="gelu")
    with pytest.raises(ValueError, match="`activation` must be 'gelu_tanh'"):
        to_keras_hub(ours)
    near = kbl.encoder(config_of(ours).replace(activation="gelu_tanh"))
    near.set_weights(ours.get_weights())
    assert_same(near, to_keras_hub(near))


RELATIVE = {"family": "deberta-v2", "activation": "gelu", "layer_norm_epsilon": 1e-7}
RELATIVE |= {"max_sequence_length": None, "num_segments": 0, "pooling": None}
REFUSED = {
    "embedding_dim": {"embedding_dim": 8},
    "layer_norm_epsilon": {"layer_norm_epsilon": 1e-5},
    "attention_dropout": {"attention_dropout": 0.2},
    "pooling": {"pooling": "mean"},
    "num_groups": {"num_groups": 1},
    "num_segments": {"num_segments": 0},
    "position_offset": {"position_offset": 2},
    "max_sequence_length": {"max_sequence_length": None},
    "convolution_size": {"convolution_size": 3},
    "relative_positions": {"relative_positions": RelativePositions(max_distance=9)},
    "`pooling` must be None": {"family": "roberta"},
    "`embedding_dim` must be 16": {"family": "albert"},
    "`embedding_dim` must be None": {"family": "electra", "embedding_dim": 16},
    "`relative_positions` must be given": RELATIVE,
    "'buckets': 9": {**RELATIVE, "relative_positions": {"max_distance": 9}},
    "bucket_size=4, max_sequence_length=12": {
        **RELATIVE,
        "relative_positions": {"max_distance": 12, "buckets": 4},
    },
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_keras_hub_cannot_express_is_refused_by_name(reason):
    ours = encoder(**REFUSED[reason])
    with pytest.raises(ValueError, match=rf"cannot be this encoder: .*{reason}"):
        to_keras_hub(ours)


def test_published_deberta_buckets_are_kept():
    check_buckets(512, 256)
    with pytest.raises(ValueError, match="`bucket_size`"):
        check_buckets(12, 4)


class OtherBackbone(models.BertBackbone):
    pass


def adapted():
    model = models.BertBackbone(**PLAIN)
    model.enable_lora(2)
    return model


UNKNOWN = {
    "Received: 3": lambda: 3,
    "`model` must be one of": lambda: OtherBackbone(**PLAIN),
    "`num_inner_repetitions`": lambda: backbone("Albert", num_inner_repetitions=2),
    "`activation` of a Text": lambda: task(
        "TextClassifier", num_classes=2, activation="softmax"
    ),
    "`hidden_dim`": lambda: task(
        "TextClassifier", "Roberta", num_classes=2, hidden_dim=8
    ),
    "lora_kernel_a": adapted,
}


@pytest.mark.parametrize("reason", UNKNOWN)
def test_what_we_do_not_have_is_refused_by_name(reason):
    theirs = UNKNOWN[reason]()
    with pytest.raises(ValueError, match=reason):
        from_keras_hub(theirs)


def test_labels_must_fit():
    with pytest.raises(ValueError, match="`labels` are for"):
        from_keras_hub(backbone(), labels=["bad", "fine"])
    theirs = task("TextClassifier", num_classes=3)
    with pytest.raises(ValueError, match="`labels` must be 3"):
        from_keras_hub(theirs, labels=["bad", "fine"])


def test_half_precision_weights_come_as_floats():
    theirs = filled(models.BertBackbone(**PLAIN, dtype="bfloat16"))
    ours = from_keras_hub(theirs)
    assert ours.compute_dtype == "float32"
    got = ours.get_layer("embeddings").token_embedding.embeddings
    wanted = np.asarray(keras.ops.cast(theirs.token_embedding.embeddings, "float32"))
    np.testing.assert_array_equal(got, wanted)


def test_numbers_that_are_none_are_one_warning():
    model = filled(models.BertBackbone(**BACKBONES["Bert"]))
    bias = model.weights[-1]
    bias.assign(np.full(bias.shape, np.nan))
    with warnings.catch_warnings(record=True, action="always") as caught:
        to_keras_hub(from_keras_hub(model))
    messages = [str(x.message) for x in caught if x.category is UserWarning]
    assert len(messages) == 2  # there and back
    for message in messages:
        assert f"NaN or infinite numbers in 1 weights: ['{bias.path}']" in message


def test_saved_backbone_has_same_outputs(tmp_path):
    to_keras_hub(encoder()).save(tmp_path / "backbone.keras")
    theirs = keras.models.load_model(tmp_path / "backbone.keras")
    assert_same(from_keras_hub(theirs), theirs)


def test_preset_with_head_and_tokenizer(tmp_path):
    tokenizer = keras_hub.tokenizers.BertTokenizer(tiny.VOCABULARY, lowercase=True)
    preprocessor = models.BertTextClassifierPreprocessor(tokenizer, sequence_length=8)
    theirs = task("TextClassifier", num_classes=2, preprocessor=preprocessor)
    theirs.save_to_preset(str(tmp_path))
    assert_same(from_keras_hub(tmp_path), theirs.backbone)
    assert_same(from_keras_hub(load_preset(tmp_path, with_head=True)), theirs)
    ours = tokenizer_from_keras_hub(tmp_path)
    texts = [*tiny.TEXTS, "Ça va? No-one's 3.5% [MASK]"]
    assert ours(texts).to_list() == [np.asarray(x).tolist() for x in tokenizer(texts)]


def test_preset_without_head_or_tokenizer_is_refused(tmp_path):
    backbone().save_to_preset(str(tmp_path))
    with pytest.raises(ValueError, match="must have a head"):
        load_preset(tmp_path, with_head=True)
    with pytest.raises(
        ValueError, match=r"tokenizer from the preset .*tokenizer\.json"
    ):
        tokenizer_from_keras_hub(tmp_path)
    with pytest.raises(ValueError, match="the preset '/no/such': Unknown"):
        from_keras_hub("/no/such")


HUGE = [10**6, 10**10]
FIELDS = ["vocabulary_size", "hidden_dim", "intermediate_dim", "num_layers"]


def changed_json(path, place, **changes):
    raw = json.loads(path.read_text())
    found = raw["config"]
    for name in place:
        found = found[name]
    found.update(changes)
    path.write_text(json.dumps(raw))


@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize(
    ("name", "field"),
    [
        *(("Bert", field) for field in [*FIELDS, "max_sequence_length"]),
        ("Bert", "num_segments"),
        *(("DebertaV3", x) for x in (*FIELDS, "max_sequence_length", "bucket_size")),
    ],
)
def test_sizes_of_a_preset_that_are_not_stored_take_no_memory(
    tmp_path, name, field, size
):
    backbone(name).save_to_preset(str(tmp_path))
    changed_json(tmp_path / "config.json", (), **{field: size})
    before = peak()
    # Of distances that share buckets, no weights bound how many there are; and
    # buckets are fewer than distances.
    reasons = {
        ("DebertaV3", "max_sequence_length"): "must be at most 4096",
        (name, "num_layers"): "`num_layers` must be at most 512",
        ("DebertaV3", "bucket_size"): "`buckets` must be at least 2, and half of it",
    }
    reason = reasons.get((name, field), "must fit the stored weights")
    with pytest.raises(ValueError, match=rf"config.json: .*{reason}"):
        kbl.load_encoder(f"keras-hub://{tmp_path}")
    assert peak() - before < 100


def test_sizes_of_a_preset_with_a_head(tmp_path):
    task("TextClassifier", num_classes=3).save_to_preset(str(tmp_path))
    path = tmp_path / "task.json"
    content = path.read_text()
    for place, field in (
        ((), "num_classes"),
        (("backbone", "config"), "vocabulary_size"),
    ):
        path.write_text(content)
        changed_json(path, place, **{field: 10**9})
        with pytest.raises(ValueError, match=rf"task.json: `{field}`.* stored weights"):
            kbl.load_model(f"keras-hub://{tmp_path}")
    path.write_text(content)
    assert kbl.load_model(tmp_path).count_params()


def test_configurations_of_presets_that_cannot_be(tmp_path):
    path = tmp_path / "config.json"
    known = "keras_hub>BertBackbone"
    for raw, message in (
        (
            {"registered_name": "keras_hub>GPT2Backbone"},
            "must be the config of one of KerasHub's",
        ),
        ({"registered_name": known}, "the field 'config' is missing"),
        ({"registered_name": known, "config": 5}, "config.json"),
        ({"registered_name": known, "config": {}}, "the field 'vocabulary_size'"),
        ({"model_type": "gpt2"}, "`model_type` must be one of"),
    ):
        path.write_text(json.dumps(raw))
        with pytest.raises(ValueError, match=message):
            load_preset(tmp_path)


def test_unreachable_preset_is_refused_by_name(monkeypatch):
    def fail(name):
        raise ConnectionError("no network")

    monkeypatch.setattr(models.Backbone, "from_preset", fail)
    with pytest.raises(ValueError, match="'bert_tiny_en_uncased': no network"):
        from_keras_hub("bert_tiny_en_uncased")


def test_refuses_families_that_keras_hub_lacks():
    model = kbl.encoder(tiny.config(family="ernie", num_task_types=3))
    with pytest.raises(ValueError, match=r"a family that KerasHub has.*'ernie'"):
        kbl.to_keras_hub(model)
