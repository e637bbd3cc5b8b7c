"""Google's TF1 checkpoints, against what Google's code computes from them."""

import json
import os
import warnings

import ml_dtypes
import numpy as np
import pytest

from keras_bert_lite.checkpoints.google import loading as google
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from tests import formulas
from tests.checkpoints import google_formulas as google_files
from tests.checkpoints.damage import (
    assert_close,
    assert_encoder,
    damage,
    inputs,
    outputs,
    shortened,
)
from tests.checkpoints.memory import peak
from tests.paths import DATA

TOY = DATA / "checkpoints" / "keras_bert_toy_tf1"
SIZES, ALBERT = google_files.SIZES, google_files.ALBERT
QUERY = "bert/encoder/layer_0/attention/self/query/kernel"


def load_encoder(directory, pooling="checkpoint", **changes):
    return google.load_encoder(directory, pooling, changes)


def load_model(directory, part=None, **changes):
    return google.load_model(directory, changes, part)


def assert_pretrainer(model, code, of=None):
    """Compares all that BERT's and ALBERT's pretraining computes."""
    found = outputs(model, of) | outputs(encoder_of(model), of)
    sequence = code.sequence_output(of or inputs())
    pooled = code.pooled_output(sequence)
    words = google_files.log_softmax(np.float64(found["prediction_logits"]))
    pair = google_files.log_softmax(np.float64(found["seq_relationship_logits"]))
    assert_close(found["sequence_output"], sequence, of)
    assert_close(found["pooled_output"], pooled, of)
    assert_close(words, code.word_log_probabilities(sequence), of)
    assert_close(pair, code.pair_log_probabilities(pooled), of)


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_bert_is_exact(tmp_path, activation):
    variables = google_files.bert()
    config = {**SIZES, "hidden_act": activation}
    model = load_model(google_files.write(tmp_path, variables, config))
    assert model.name == "bert_pretrainer"
    assert model.count_params() == sum(x.size for x in variables.values())
    assert_pretrainer(model, google_files.Code(variables, config))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_hidden_layers": 4, "num_hidden_groups": 2},
        {"embedding_size": 16},
        {"net_structure_type": 0, "gap_size": 0, "hidden_act": "relu"},
    ],
)
def test_albert_is_exact(tmp_path, changes):
    config = {**ALBERT, **changes}
    variables = google_files.albert(config)
    directory = google_files.write(tmp_path, variables, config, "albert")
    model = load_model(directory)
    assert model.name == "bert_pretrainer"
    assert model.count_params() == sum(x.size for x in variables.values())
    assert config_of(encoder_of(model)).family == "albert"
    assert_pretrainer(model, google_files.Code(variables, config))


def electra_code(variables, scope, tables="electra", **config):
    config = {**SIZES, "num_attention_heads": 1, **config}
    return google_files.Code(variables, config, scope, tables, formulas.gelu)


def quietly(load, *args, **options):
    """Loads one half of ELECTRA, of which the other stays unused."""
    with pytest.warns(UserWarning, match="not used"):
        return load(*args, **options)


def test_electra_discriminator_is_exact(tmp_path):
    variables = google_files.electra()
    google_files.write(tmp_path, variables, None, "electra")
    model = quietly(load_model, tmp_path)
    code = electra_code(variables, "electra")
    sequence = code.sequence_output(inputs())
    assert_close(outputs(model)["logits"], code.replaced_logits(sequence))
    assert_encoder(quietly(load_encoder, tmp_path), code)


@pytest.mark.parametrize("options", [{}, {"own_tables": True}, {"generator_size": 12}])
def test_electra_generator_is_exact(tmp_path, options):
    variables = google_files.electra(**options)
    google_files.write(tmp_path, variables, None, "electra")
    model = quietly(load_model, tmp_path, "generator")
    tables = "generator" if "own_tables" in options else "electra"
    code = electra_code(variables, "generator", tables)
    sequence = code.sequence_output(inputs())
    expected = code.word_log_probabilities(
        sequence, "generator_predictions", "generator_predictions"
    )
    found = np.float64(outputs(model)["prediction_logits"])
    assert_close(google_files.log_softmax(found), expected)


def test_electra_heads_are_of_64(tmp_path):
    config = {**SIZES, "hidden_size": 128, "intermediate_size": 512}
    variables = google_files.electra(config, width=128)
    google_files.write(tmp_path, variables, None, "electra")
    model = quietly(load_encoder, tmp_path)
    found = config_of(model)
    assert (found.num_heads, found.hidden_dim, found.embedding_dim) == (2, 128, None)
    code = electra_code(variables, "electra", num_attention_heads=2)
    assert_encoder(model, code)


def test_electra_takes_a_configuration(tmp_path):
    config = {**SIZES, "num_attention_heads": 4, "hidden_dropout_prob": 0.3}
    variables = google_files.electra()
    google_files.write(tmp_path, variables, config, "electra")
    model = quietly(load_encoder, tmp_path)
    assert config_of(model).dropout == 0.3
    assert_encoder(model, electra_code(variables, "electra", num_attention_heads=4))


def test_electra_trained_on_words_alone(tmp_path):
    variables = {
        name.replace("generator/", "electra/"): value
        for name, value in google_files.electra(generator_size=16).items()
        if "discriminator" not in name and not name.startswith("electra/enc")
    }
    google_files.write(tmp_path, variables, None, "electra")
    model = load_model(tmp_path)
    assert list(model.output) == ["prediction_logits"]
    code = electra_code(variables, "electra")
    assert_encoder(quietly(load_encoder, tmp_path), code)


def test_only_a_generator(tmp_path):
    variables = {
        name: value
        for name, value in google_files.electra().items()
        if "discriminator" not in name and not name.startswith("electra/enc")
    }
    variables.pop("electra/embeddings_project/kernel")
    variables.pop("electra/embeddings_project/bias")
    google_files.write(tmp_path, variables, None, "electra")
    assert list(load_model(tmp_path).output) == ["prediction_logits"]


@pytest.mark.skipif(
    not TOY.is_dir(), reason=f"{TOY} is missing; KERAS_BERT_LITE_DATA names the folder"
)
def test_toy_checkpoint_of_google_code():
    config = json.loads((TOY / "bert_config.json").read_text())
    reader = google.open_files(TOY, None).source
    variables = {name: reader.read(name) for name in reader.names()}
    rng = np.random.default_rng(0)
    mask = np.arange(16) < np.array([[16], [9], [1]])
    given = {
        "token_ids": rng.integers(0, config["vocab_size"], (3, 16)),
        "segment_ids": rng.integers(0, 2, (3, 16)),
        "padding_mask": mask,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # its optimizer's variables are no news
        model = load_model(TOY)
    assert_pretrainer(model, google_files.Code(variables, config), given)


def test_gelu_means_what_each_code_computes(tmp_path):
    directories = [tmp_path / name for name in ("bert", "albert", "electra")]
    for directory in directories:
        directory.mkdir()
    google_files.write(directories[0], google_files.bert())
    google_files.write(directories[1], google_files.albert(), ALBERT, "albert")
    google_files.write(directories[2], google_files.electra(), None, "electra")
    configs = [config_of(quietly(load_encoder, x)) for x in directories]
    assert [x.activation for x in configs] == ["gelu_tanh", "gelu_tanh", "gelu"]
    assert {x.layer_norm_epsilon for x in configs} == {1e-12}


def test_configuration_is_honoured(tmp_path):
    config = {
        **SIZES,
        "hidden_dropout_prob": 0.2,
        "attention_probs_dropout_prob": None,
        "initializer_range": 0.05,
        "hidden_act": "GELU",
        "layer_norm_eps": 1e-3,
        "directionality": "bidi",
    }
    directory = google_files.write(tmp_path, google_files.bert(), config)
    found = config_of(encoder_of(load_model(directory)))
    assert (found.dropout, found.attention_dropout) == (0.2, 0.0)
    assert (found.initializer_range, found.layer_norm_epsilon) == (0.05, 1e-12)
    changed = config_of(encoder_of(load_model(directory, attention_dropout=0.4)))
    assert (changed.dropout, changed.attention_dropout) == (0.2, 0.4)
    with pytest.raises(ValueError, match=r"may differ.*num_heads=4"):
        load_model(directory, num_heads=4)


def test_defaults_are_those_of_google_classes(tmp_path):
    config = {**SIZES, "type_vocab_size": 16, "max_position_embeddings": 512}
    variables = google_files.bert(config)
    names = ("type_vocab_size", "max_position_embeddings", "hidden_act")
    shorter = {name: x for name, x in config.items() if name not in names}
    google_files.write(tmp_path, variables, shorter)
    assert_pretrainer(load_model(tmp_path), google_files.Code(variables, config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "gelu_new"}, "`hidden_act`.*'gelu_new'"),
        ({"hidden_act": "linear"}, "`hidden_act`.*'linear'"),
        ({"hidden_act": None}, "`hidden_act`.*None"),
        ({"num_attention_heads": 3}, "num_heads=3"),
        ({"vocab_size": "many"}, "'many'"),
        ({"inner_group_num": 2}, "`inner_group_num` must be 1. Received: 2"),
        ({"net_structure_type": 1}, "`net_structure_type`.*1"),
        ({"num_hidden_groups": 2, "num_hidden_layers": 3}, "num_groups=2"),
    ],
)
def test_refused_configurations(tmp_path, changes, message):
    directory = google_files.write(
        tmp_path, google_files.albert(), {**ALBERT, **changes}, "albert"
    )
    with pytest.raises(ValueError, match=rf"albert_config.json: .*{message}"):
        load_encoder(directory)


@pytest.mark.parametrize("size", [10**5, 10**9, 10**30])
@pytest.mark.parametrize(
    "field",
    [
        *("vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size"),
        *("max_position_embeddings", "type_vocab_size"),
    ],
)
def test_sizes_that_are_not_stored_take_no_memory(tmp_path, field, size):
    config = {**SIZES, field: size}
    google_files.write(tmp_path, google_files.bert(), config)
    before = peak()
    with pytest.raises(ValueError, match=rf"bert_config.json: .*`{field}`") as caught:
        load_model(tmp_path)
    reasons = {"num_hidden_layers": "`num_layers` must be at most 512"}
    assert reasons.get(field, "must fit the stored weights") in str(caught.value)
    assert peak() - before < 100


@pytest.mark.parametrize("field", ["embedding_size", "num_hidden_layers"])
def test_sizes_of_albert_that_are_not_stored(tmp_path, field):
    """Layers share their weights, so that no file bounds how many there are."""
    config = {**ALBERT, field: 10**6}
    google_files.write(tmp_path, google_files.albert(), config, "albert")
    with pytest.raises(ValueError, match=rf"albert_config.json: .*`{field}`"):
        load_model(tmp_path)


def test_index_that_lists_more_than_is_stored(tmp_path):
    """Sizes of ELECTRA are those of the index, which data must bear out."""
    variables = google_files.electra()
    google_files.write(tmp_path, variables, None, "electra")
    (data,) = tmp_path.glob("*.data-*")
    os.truncate(data, data.stat().st_size // 2)
    with pytest.raises(ValueError, match=r"its index lists .* bytes. Received: data"):
        load_model(tmp_path)


def test_missing_fields(tmp_path):
    config = {k: v for k, v in SIZES.items() if k not in ("vocab_size", "hidden_size")}
    google_files.write(tmp_path, google_files.bert(), config)
    with pytest.raises(ValueError, match=r"bert_config.json.*'vocab_size', 'hidden_si"):
        load_encoder(tmp_path)


def test_files_that_are_there_or_not(tmp_path):
    assert not google.detect(tmp_path)
    with pytest.raises(ValueError, match=r"one checkpoint.*Received: none"):
        load_encoder(tmp_path)
    google_files.write(tmp_path, google_files.bert(), None)
    assert google.detect(tmp_path)
    with pytest.raises(ValueError, match=r"bert_config.json.*Received: none"):
        load_encoder(tmp_path)
    google_files.write(tmp_path, google_files.bert())
    (tmp_path / "tokenizer_config.json").write_text("{}")
    load_model(tmp_path)
    (tmp_path / "old_config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"one config.*'bert_con.*'old_config.json'"):
        load_model(tmp_path)
    google_files.save(tmp_path / "model.ckpt-7", google_files.bert())
    with pytest.raises(ValueError, match=r"one checkpoint.*'model.ckpt-7.index'"):
        load_model(tmp_path)


def test_only_other_variables(tmp_path):
    google_files.write(tmp_path, {"dense/kernel": np.zeros((2, 2), np.float32)})
    with pytest.raises(ValueError, match=r"bert_model.ckpt must.*'dense/kernel'"):
        load_encoder(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.pop(QUERY), f"lacks 1 tensors: .*{QUERY}"),
        (lambda v: v.update({QUERY: v[QUERY][:5]}), rf"{QUERY}.*Received: \(5, 16\)"),
        (lambda v: v.update({QUERY: v[QUERY].astype(int)}), f"{QUERY}.*int64"),
        (
            lambda v: v.update({QUERY.replace("layer_0", "layer_2"): v[QUERY]}),
            "does not account for.*layer_2",
        ),
        (lambda v: v.pop("cls/predictions/output_bias"), "lacks.*output_bias"),
        (lambda v: v.pop("cls/seq_relationship/output_bias"), "lacks.*seq_rel"),
        (lambda v: v.pop("bert/pooler/dense/bias"), "lacks.*pooler/dense/bias"),
    ],
)
def test_variables_that_do_not_fit(tmp_path, change, message):
    variables = google_files.bert()
    change(variables)
    google_files.write(tmp_path, variables)
    with pytest.raises(ValueError, match=rf"bert_model.ckpt.*{message}"):
        load_model(tmp_path)


def test_pair_without_pooler(tmp_path):
    variables = {k: v for k, v in google_files.bert().items() if "pooler" not in k}
    google_files.write(tmp_path, variables)
    with pytest.raises(ValueError, match=r"bert_model.ckpt lacks.*bert/pooler"):
        load_model(tmp_path)
    model = quietly(load_encoder, tmp_path)
    assert list(model.output) == ["sequence_output"]


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        ("cls/seq_relationship", ["prediction_logits"]),
        ("cls/predictions", ["seq_relationship_logits"]),
        ("cls/", ["pooled_output", "sequence_output"]),
    ],
)
def test_heads_that_are_there(tmp_path, removed, expected):
    variables = google_files.bert()
    rest = {k: v for k, v in variables.items() if not k.startswith(removed)}
    google_files.write(tmp_path, rest)
    pooler_is_unused = expected == ["prediction_logits"]
    load = quietly if pooler_is_unused else lambda load, *args: load(*args)
    model = load(load_model, tmp_path)
    assert sorted(model.output) == expected


def test_optimizer_variables_are_no_news(tmp_path):
    variables = google_files.bert()
    slots = {f"{x}/adam_{y}": v for x, v in variables.items() for y in "mv"}
    steps = {"global_step": np.int64(7), "beta1_power": np.float32(0.9)}
    google_files.write(tmp_path, variables | slots | steps)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(tmp_path)


def test_other_variables_are_one_warning(tmp_path):
    extra = {"output_weights": np.zeros((3, 16), np.float32), "loss/x": np.float32(1)}
    google_files.write(tmp_path, google_files.bert() | extra)
    expected = r"has 2 weights that are not used: \['loss/x', 'output_weights'\]"
    with pytest.warns(UserWarning, match=expected) as caught:
        load_model(tmp_path)
    assert len(caught) == 1


def test_poolings(tmp_path):
    variables = {k: v for k, v in google_files.bert().items() if "cls/" not in k}
    google_files.write(tmp_path, variables)
    code = google_files.Code(variables, SIZES)
    assert_encoder(load_encoder(tmp_path), code)
    assert "pooled_output" in load_encoder(tmp_path, "cls_dense").output
    mean = quietly(load_encoder, tmp_path, "mean")
    assert "pooled_output" in mean.output
    assert list(quietly(load_encoder, tmp_path, None).output) == ["sequence_output"]
    with pytest.warns(UserWarning, match=r"random weights; it has 2 weights that"):
        load_encoder(tmp_path, "attention")
    with pytest.raises(ValueError, match="pooling"):
        load_encoder(tmp_path, "sum")


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_other_floats(tmp_path, dtype):
    stored = {name: x.astype(dtype) for name, x in google_files.bert().items()}
    model = load_model(google_files.write(tmp_path, stored))
    assert {v.dtype for v in model.weights} == {"float32"}
    rounded = {name: x.astype(np.float32) for name, x in stored.items()}
    assert_pretrainer(model, google_files.Code(rounded, SIZES))


def test_numbers_that_are_none_and_those_beyond_float32(tmp_path):
    variables = {name: np.float64(x) for name, x in google_files.bert().items()}
    variables[QUERY][0, 0] = np.nan
    google_files.write(tmp_path, variables)
    with pytest.warns(UserWarning, match=f"NaN or infinite .* in 1 weights: .'{QUERY}"):
        load_model(tmp_path)
    variables[QUERY][0, 0] = 1e300
    google_files.write(tmp_path, variables)
    with pytest.raises(ValueError, match=rf"'{QUERY}' must .*float32 .*: 1e\+300"):
        load_model(tmp_path)


def test_every_variable_arrives(tmp_path):
    variables = google_files.bert()
    model = load_model(google_files.write(tmp_path, variables))
    stored = sorted(float(np.sum(x, dtype=np.float64)) for x in variables.values())
    loaded = sorted(float(np.sum(x, dtype=np.float64)) for x in model.get_weights())
    np.testing.assert_allclose(loaded, stored, atol=1e-6)


def flipped(content):
    content[len(content) // 2] ^= 0xFF
    return content


def emptied(content):
    return b""


@pytest.mark.parametrize("end", [".index", ".data-00000-of-00001"])
@pytest.mark.parametrize("change", [flipped, shortened, emptied])
def test_broken_files(tmp_path, end, change):
    google_files.write(tmp_path, google_files.bert())
    damage(tmp_path, end, change)
    with pytest.raises(ValueError, match=r"bert_model.ckpt.*cannot be read"):
        load_model(tmp_path)


def test_missing_data(tmp_path):
    google_files.write(tmp_path, google_files.bert())
    (tmp_path / "bert_model.ckpt.data-00000-of-00001").unlink()
    with pytest.raises(ValueError, match=r"bert_model.ckpt.*cannot be read"):
        load_model(tmp_path)


def test_unknown_part(tmp_path):
    google_files.write(tmp_path, google_files.electra(), None, "electra")
    with pytest.raises(ValueError, match="`part` must be one of"):
        load_model(tmp_path, "critic")


def test_part_of_bert(tmp_path):
    google_files.write(tmp_path, google_files.bert())
    with pytest.raises(ValueError, match=r"`part`.*bert_model.ckpt.*'generator'"):
        load_model(tmp_path, "generator")
