"""Other tables, other heads and fewer layers on a model that is there."""

import warnings

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.policies import dtype_policy

BUILDERS = {
    "encoder": lambda body: body,
    "masked_lm": kbl.masked_lm,
    "untied": lambda body: kbl.masked_lm(body, tied=False),
    "bert_pretrainer": kbl.pretraining.bert_pretrainer,
    "classifier": lambda body: kbl.text_classifier(body, ["bad", "fine"]),
    "multiple_choice": kbl.multiple_choice,
}
FAMILIES = {
    "bert": {},
    "roberta": {"family": "roberta", "position_offset": 2, "num_segments": 1},
    "albert": {"family": "albert", "num_groups": 1, "embedding_dim": 8},
}
WITHOUT_POSITIONS = {
    "deberta-v2": {
        "family": "deberta-v2",
        "max_sequence_length": None,
        "num_segments": 0,
        "relative_positions": kbl.config.RelativePositions(max_distance=8, buckets=4),
    },
}


def outputs(model, texts=tiny.TEXTS):
    return {k: np.asarray(v) for k, v in model(tiny.preprocessor()(texts)).items()}


def position_table(model):
    embeddings = kbl.encoder_of(model).get_layer("embeddings")
    return np.asarray(embeddings.position_embedding.embeddings)


@pytest.mark.parametrize("family", FAMILIES | WITHOUT_POSITIONS)
@pytest.mark.parametrize("kind", ["encoder", "masked_lm", "untied", "bert_pretrainer"])
def test_a_larger_vocabulary_changes_nothing_else(kind, family):
    changes = (FAMILIES | WITHOUT_POSITIONS)[family]
    model = BUILDERS[kind](tiny.encoder(**changes))
    size = len(tiny.VOCABULARY)
    larger = kbl.surgery.resize(model, vocabulary_size=size + 3)
    before, after = outputs(model), outputs(larger)
    for name, value in before.items():
        rest = after[name][..., : value.shape[-1]]
        np.testing.assert_allclose(rest, value, atol=1e-6)
    words = {"masked_lm", "untied", "bert_pretrainer"}
    if kind in words:
        assert after["prediction_logits"].shape[-1] == size + 3
    back = kbl.surgery.resize(larger, vocabulary_size=size)
    for first, second in zip(model.weights, back.weights, strict=True):
        np.testing.assert_array_equal(first, second)


def test_new_rows_are_about_the_mean():
    model = tiny.encoder()
    size = len(tiny.VOCABULARY)
    tables = [
        np.asarray(
            kbl.surgery.resize(model, vocabulary_size=size + 500, seed=seed)
            .get_layer("embeddings")
            .token_embedding.embeddings
        )
        for seed in (1, 1, 2)
    ]
    old, new = tables[0][:size], tables[0][size:]
    np.testing.assert_allclose(new.mean(0), old.mean(0), atol=5e-3)
    assert 0.015 < new.std() < 0.025
    np.testing.assert_array_equal(tables[0], tables[1])
    assert (tables[0] != tables[2]).any()


@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_longer_and_shorter_positions(kind, family):
    changes = {**FAMILIES[family], "num_segments": 2}
    model = BUILDERS[kind](tiny.encoder(**changes))
    offset = changes.get("position_offset", 0)
    old = position_table(model)
    tiled = position_table(
        kbl.surgery.resize(model, max_sequence_length=60, positions="tile")
    )
    assert len(tiled) == 60 + offset
    np.testing.assert_array_equal(tiled[offset + 24 : offset + 48], old[offset:])
    stretched = position_table(kbl.surgery.resize(model, max_sequence_length=47))
    np.testing.assert_array_equal(stretched[:offset], old[:offset])
    np.testing.assert_allclose(stretched[offset::2], old[offset:], atol=1e-7)
    middle = (old[offset:-1] + old[offset + 1 :]) / 2
    np.testing.assert_allclose(stretched[offset + 1 :: 2], middle, atol=1e-7)
    shorter = position_table(kbl.surgery.resize(model, max_sequence_length=9))
    np.testing.assert_array_equal(shorter, old[: 9 + offset])


def test_a_longer_table_takes_longer_texts():
    model = kbl.surgery.resize(tiny.encoder(), max_sequence_length=40, positions="tile")
    preprocessor = tiny.preprocessor(sequence_length=40)
    ids = preprocessor(["the day is fine " * 20])
    assert model(ids)["sequence_output"].shape == (1, 40, 16)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary_size": 0}, "`vocabulary_size` must be a positive integer"),
        ({"max_sequence_length": "9"}, "`max_sequence_length` must be a positive"),
        ({"positions": "guess"}, "`positions` must be one of .* Received: 'guess'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        kbl.surgery.resize(tiny.encoder(), **options)


def test_refuses_positions_that_are_not_there_and_models_of_strings():
    relative = {"max_sequence_length": None, "relative_positions": {"max_distance": 8}}
    with pytest.raises(ValueError, match="no position table"):
        kbl.surgery.resize(tiny.encoder(**relative), max_sequence_length=9)
    with pytest.raises(ValueError, match="`model` must take ids"):
        kbl.surgery.resize(kbl.with_text(tiny.encoder(), tiny.preprocessor()))


def test_added_tokens_are_found_in_text():
    model, preprocessor = kbl.surgery.add_tokens(
        tiny.classifier(), tiny.preprocessor(), ["[ENTITY]", "covid", "the"]
    )
    tokenizer = preprocessor.tokenizer
    size = len(tiny.VOCABULARY)
    assert tokenizer.get_vocabulary()[size:] == ["[ENTITY]", "covid"]
    day, the = tokenizer.token_to_id("day"), tokenizer.token_to_id("the")
    ids = tokenizer(["the [ENTITY] day", "covidday", "COVID"]).to_list()
    assert ids[:2] == [[the, size, day], [size + 1, day]]
    assert size + 1 not in ids[2]  # as it is written
    _, starts, ends = tokenizer.tokenize_with_offsets(["the [ENTITY]day"])
    assert (starts.to_list(), ends.to_list()) == ([[0, 4, 12]], [[3, 12, 15]])
    string_model = kbl.with_text(model, preprocessor)
    assert string_model.predict(["the [ENTITY] day"])["scores"].shape == (1, 2)


@pytest.mark.parametrize("token", ["", " a", "a\n", 5])
def test_refuses_tokens_that_cannot_be(token):
    with pytest.raises(ValueError, match="`tokens` must be strings without white"):
        tiny.tokenizer().with_tokens([token])


def test_refuses_a_single_string_and_short_tokens():
    with pytest.raises(TypeError, match="`tokens` must be a list"):
        tiny.tokenizer().with_tokens("abc")
    with pytest.raises(ValueError, match=r"(?s)at least 3 bytes.* Received: \['%%'"):
        tiny.tokenizer().with_tokens(["%%"])


@pytest.mark.parametrize("kind", ["classifier", "bert_pretrainer", "multiple_choice"])
def test_a_head_is_replaced_by_building_another(kind):
    model = BUILDERS[kind](tiny.encoder())
    other = kbl.text_classifier(kbl.encoder_of(model), ["a", "b", "c", "d"])
    assert outputs(other)["logits"].shape == (4, 4)
    old = kbl.encoder_of(model).get_weights()
    for first, second in zip(old, kbl.encoder_of(other).get_weights(), strict=True):
        np.testing.assert_array_equal(first, second)


def test_distilbert_from_a_berts_layers():
    model = tiny.encoder(num_layers=4)
    student = kbl.surgery.keep_layers(model, [0, 2], family="distilbert")
    assert sorted(student.output) == ["sequence_output"]
    teacher_blocks = model.get_layer("blocks").blocks
    for i, block in zip([0, 2], student.get_layer("blocks").blocks, strict=True):
        for ours, theirs in zip(
            block.get_weights(), teacher_blocks[i].get_weights(), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
    segments = model.get_layer("embeddings").segment_embedding.embeddings
    segments.assign(np.zeros(segments.shape))
    every = kbl.surgery.keep_layers(model, [0, 1, 2, 3], family="distilbert")
    expected = outputs(model)["sequence_output"]
    np.testing.assert_allclose(outputs(every)["sequence_output"], expected, atol=1e-6)


@pytest.mark.parametrize("changes", [{}, FAMILIES["roberta"], {"embedding_dim": 8}])
def test_all_layers_are_the_same_encoder(changes):
    model = tiny.encoder(**changes)
    again = kbl.surgery.keep_layers(model, [0, 1])
    for first, second in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(first, second)


def test_take_layers_refusals():
    with pytest.raises(ValueError, match=r"`layers` must be numbers from 0 to 1"):
        kbl.surgery.keep_layers(tiny.encoder(), [0, 2])
    with pytest.raises(ValueError, match="a block for each layer"):
        kbl.surgery.keep_layers(tiny.encoder(num_groups=1), [0])


def test_what_is_frozen_stays_frozen():
    model = BUILDERS["classifier"](tiny.encoder())
    blocks = kbl.encoder_of(model).get_layer("blocks")
    blocks.blocks[0].trainable = False
    kbl.encoder_of(model).get_layer("embeddings").trainable = False
    larger = kbl.surgery.resize(model, vocabulary_size=len(tiny.VOCABULARY) + 1)
    names = [x.path for x in larger.trainable_weights]
    assert names == [x.path for x in model.trainable_weights]
    assert not [x for x in names if "embeddings" in x or "block_0" in x]


def with_lora(model):
    kbl.encoder_of(model).get_layer("blocks").blocks[1].attention.query.enable_lora(2)
    return model


def quantized(model):
    with warnings.catch_warnings(action="ignore"):  # inputs cannot be quantized
        model.quantize("int8")
    return model


@pytest.mark.parametrize(
    ("change", "message"), [(with_lora, "without LoRA"), (quantized, "quantized")]
)
def test_weights_with_parts_are_refused(change, message, tmp_path):
    model = change(BUILDERS["classifier"](tiny.encoder()))
    for attempt in (
        lambda: kbl.surgery.resize(model, vocabulary_size=200),
        lambda: kbl.surgery.keep_layers(model, [0]),
        lambda: kbl.save_hugging_face(model, None, tmp_path / "out"),
    ):
        with pytest.raises(ValueError, match=message):
            attempt()


def test_lora_is_merged_as_the_message_says(tmp_path):
    model = with_lora(BUILDERS["classifier"](tiny.encoder()))
    query = kbl.encoder_of(model).get_layer("blocks").blocks[1].attention.query
    query.lora_kernel_b.assign(np.ones(query.lora_kernel_b.shape))
    model.save_weights(tmp_path / "merged.weights.h5")
    plain = BUILDERS["classifier"](tiny.encoder())
    plain.load_weights(tmp_path / "merged.weights.h5")
    expected = outputs(model)
    for name, value in outputs(plain).items():
        np.testing.assert_allclose(value, expected[name], atol=1e-6)
    kbl.save_hugging_face(plain, None, tmp_path / "out")


def test_fewer_layers_have_the_policy_of_all():
    with dtype_policy("mixed_bfloat16"):
        model = tiny.encoder()
    smaller = kbl.surgery.keep_layers(model, [0])
    assert smaller.get_layer("blocks").dtype_policy.name == "mixed_bfloat16"
    assert keras.config.dtype_policy().name == "float32"


@pytest.mark.parametrize("family", ["roberta", "albert"])
def test_only_berts_become_distilberts(family):
    with pytest.raises(ValueError, match="`family`"):
        kbl.surgery.keep_layers(tiny.encoder(), [0], family=family)
    with pytest.raises(
        ValueError, match="`family` must be None unless the encoder is a BERT"
    ):
        kbl.surgery.keep_layers(
            tiny.encoder(**FAMILIES["roberta"]), [0], family="distilbert"
        )


KEPT_TEXTS = ["The finer the day", "is it not bad?"]
KEPT_KINDS = ["encoder", "masked_lm", "untied", "bert_pretrainer", "classifier"]


@pytest.mark.parametrize("family", FAMILIES | WITHOUT_POSITIONS)
@pytest.mark.parametrize("kind", KEPT_KINDS)
def test_a_model_of_fewer_tokens_computes_the_same(kind, family):
    model = BUILDERS[kind](tiny.encoder(**(FAMILIES | WITHOUT_POSITIONS)[family]))
    for layer in model.layers:
        layer.trainable = False
    preprocessor = tiny.preprocessor()
    smaller, kept = kbl.surgery.keep_tokens(model, preprocessor, KEPT_TEXTS)
    old, new = preprocessor.tokenizer, kept.tokenizer
    gone = {*old.get_vocabulary()} - {*new.get_vocabulary()}
    assert gone == {"weather", "##er", "##ing"}
    ids = [old.token_to_id(piece) for piece in new.get_vocabulary()]
    assert ids == sorted(ids)
    texts = [*KEPT_TEXTS, "a bad day"]
    before = {k: np.asarray(v) for k, v in model(preprocessor(texts)).items()}
    after = {k: np.asarray(v) for k, v in smaller(kept(texts)).items()}
    for name, value in before.items():
        expected = value[..., ids] if name == "prediction_logits" else value
        np.testing.assert_allclose(after[name], expected, atol=1e-6)
    assert smaller.count_params() < model.count_params()
    assert not smaller.trainable_weights


def test_tokens_to_keep_may_be_named_and_prompts_are_texts():
    tokenizer = tiny.tokenizer()
    encoder = tiny.encoder()
    _, kept = kbl.surgery.keep_tokens(encoder, tokenizer, [], ["##ing", "weather"])
    assert {"##ing", "weather", "[MASK]", "##q", "?"} <= {*kept.get_vocabulary()}
    assert not {"fine", "day"} & {*kept.get_vocabulary()}
    preprocessor = tiny.preprocessor(prompts={"query": "fine "})
    _, kept = kbl.surgery.keep_tokens(encoder, preprocessor, ["day"])
    assert kept.prompts == preprocessor.prompts
    assert {"fine", "day"} <= {*kept.tokenizer.get_vocabulary()}


def test_rows_without_a_token_are_dropped():
    encoder = tiny.encoder(vocabulary_size=len(tiny.VOCABULARY) + 7)
    smaller, kept = kbl.surgery.keep_tokens(encoder, tiny.tokenizer(), TEXTS_OF_ALL)
    assert kept.get_vocabulary() == tiny.VOCABULARY
    embeddings = smaller.get_layer("embeddings")
    assert embeddings.vocabulary_size == len(tiny.VOCABULARY)


TEXTS_OF_ALL = ["the day is not fine bad weather", "jer jing"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("the day",), TypeError, "`texts` must be a list of strings"),
        ((["day"], "day"), TypeError, "`tokens` must be a list of strings"),
        (([b"day"],), TypeError, "`texts` must be strings. Received: b'day'"),
        (([""],), ValueError, "`texts` must have tokens. Received: none"),
        ((["day"], ["no"]), ValueError, r"`tokens` must be pieces.*Received: \['no'\]"),
    ],
)
def test_tokens_that_cannot_be_kept(arguments, error, message):
    with pytest.raises(error, match=message):
        kbl.surgery.keep_tokens(tiny.encoder(), tiny.tokenizer(), *arguments)


def test_models_whose_tokens_cannot_be_kept():
    keep_tokens, texts = kbl.surgery.keep_tokens, ["the day"]
    served = kbl.with_text(tiny.encoder(), tiny.preprocessor())
    with pytest.raises(TypeError, match="`preprocessor` must be a `Preprocessor`"):
        keep_tokens(tiny.encoder(), None, texts)
    with pytest.raises(ValueError, match="`model` must take ids"):
        keep_tokens(served, tiny.preprocessor(), texts)
    with pytest.raises(ValueError, match="at most as many tokens as the model, 9"):
        keep_tokens(tiny.encoder(vocabulary_size=9), tiny.tokenizer(), texts)
    with pytest.raises(ValueError, match="without LoRA"):
        keep_tokens(with_lora(tiny.encoder()), tiny.tokenizer(), texts)
