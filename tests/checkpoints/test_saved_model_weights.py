"""Encoders out of SavedModels: Model Garden's names, and our own exports."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.saved_model import loading as saved_model_weights
from keras_bert_lite.models.encoder_model import config_of
from tests import tiny
from tests.checkpoints import google_formulas
from tests.checkpoints.damage import assert_encoder, damage, shortened
from tests.checkpoints.google_formulas import Code

ALBERT = {"family": "albert"}
HEADS = google_formulas.SIZES["num_attention_heads"]
# The names of Google's TF1 code -> those of Model Garden.
RENAMED = (
    ("bert/encoder/transformer/group_0/inner_group_0/", "transformer/"),
    ("bert/encoder/embedding_hidden_mapping_in", "embedding_projection"),
    ("electra/embeddings_project", "embedding_projection"),
    ("bert/encoder/", "transformer/"),
    ("electra/encoder/", "transformer/"),
    ("electra/embeddings/", "bert/embeddings/"),
    ("bert/embeddings/word_embeddings", "word_embeddings/embeddings"),
    ("bert/embeddings/position_embeddings", "position_embedding/embeddings"),
    ("bert/embeddings/token_type_embeddings", "type_embeddings/embeddings"),
    ("bert/embeddings/LayerNorm", "embeddings/layer_norm"),
    ("bert/pooler/dense", "pooler_transform"),
    ("attention_1/", "attention/"),
    ("ffn_1/intermediate/output/dense", "output"),
    ("ffn_1/intermediate/dense", "intermediate"),
    ("attention/self/", "self_attention/"),
    ("attention/output/dense", "self_attention/attention_output"),
    ("attention/output/LayerNorm", "self_attention_layer_norm"),
    ("intermediate/dense", "intermediate"),
    ("output/dense", "output"),
    ("output/LayerNorm", "output_layer_norm"),
    ("transformer/LayerNorm_1", "transformer/output_layer_norm"),
    ("transformer/LayerNorm", "transformer/self_attention_layer_norm"),
)


def model_garden(variables, heads=HEADS):
    """Returns an encoder's variables as Model Garden names and shapes them."""
    found = {}
    for name, value in variables.items():
        if name.startswith(("cls/", "generator", "discriminator")):
            continue
        for old, new in RENAMED:
            name = name.replace(old, new)
        found[name] = with_heads(name, value, heads)
    return found


def with_heads(name, value, heads):
    *_, module, kind = name.split("/")
    if module == "attention_output" and kind == "kernel":
        return value.reshape(heads, -1, value.shape[-1])
    if module in ("query", "key", "value"):
        return value.reshape(*value.shape[:-1], heads, -1)
    return value


def save(directory, variables, prefix="", num_outputs=None, operation=None):
    """Writes variables as a SavedModel.

    Args:
        directory: Where.
        variables: By name.
        prefix: Put in front of the names.
        num_outputs: How many `encoder_outputs` its function has.
        operation: What its function computes with.
    """
    module = tf.Module()
    module.parts = [tf.Variable(x, name=prefix + k) for k, x in variables.items()]
    module.do_lower_case = tf.Variable(True, trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def call(x):
        y = operation(x) if operation else x
        return {"default": y, "encoder_outputs": [y] * (num_outputs or 0)}

    if num_outputs is not None or operation is not None:
        module.call = call
    tf.saved_model.save(module, str(directory))
    return directory


def load(directory, pooling="checkpoint", **changes):
    return saved_model_weights.load_encoder(directory, pooling, changes)


@pytest.mark.parametrize("prefix", ["", "bert_encoder_v2/"])
def test_model_garden_is_exact(tmp_path, prefix):
    variables = google_formulas.bert()
    assert not saved_model_weights.detect(tmp_path)
    directory = save(tmp_path / "encoder", model_garden(variables), prefix)
    assert saved_model_weights.detect(directory)
    model = load(directory, dropout=0.2)
    config = config_of(model)
    assert (config.num_heads, config.num_layers, config.dropout) == (2, 2, 0.2)
    assert (config.activation, config.layer_norm_epsilon) == ("gelu_tanh", 1e-12)
    assert_encoder(model, Code(variables, google_formulas.SIZES))


def test_factorized_embeddings(tmp_path):
    config = {**google_formulas.SIZES, "hidden_act": "relu"}
    variables = google_formulas.electra(config)
    variables = {k: x for k, x in variables.items() if k.startswith("electra/")}
    save(tmp_path, model_garden(variables), operation=tf.nn.relu)
    model = load(tmp_path)
    assert list(model.output) == ["sequence_output"]
    assert_encoder(model, Code(variables, config, "electra", "electra"))


def test_shared_layers(tmp_path):
    config = {**google_formulas.ALBERT, "num_hidden_layers": 3}
    variables = google_formulas.albert(config)
    directory = save(tmp_path / "albert", model_garden(variables), num_outputs=3)
    model = load(directory)
    assert (config_of(model).num_layers, config_of(model).num_groups) == (3, 1)
    assert_encoder(model, Code(variables, config))
    directory = save(tmp_path / "silent", model_garden(variables))
    with pytest.raises(ValueError, match=r"saved_model.pb.*`encoder_outputs`"):
        load(directory)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (functools.partial(tf.nn.gelu, approximate=True), "gelu_tanh"),
        (functools.partial(tf.nn.gelu, approximate=False), "gelu"),
        (tf.math.erf, "gelu"),
        (tf.nn.relu, "relu"),
        (tf.nn.silu, "silu"),
        (tf.tanh, "tanh"),
    ],
)
def test_the_graph_tells_the_activation(tmp_path, operation, expected):
    save(tmp_path, {"x": np.zeros(2, np.float32)}, operation=operation)
    graph = saved_model_weights.SavedGraph(tmp_path)
    assert graph.activation("gelu_tanh") == expected


def test_activations_that_cannot_be(tmp_path):
    none = {"x": np.zeros(2, np.float32)}
    save(tmp_path / "elu", none, operation=tf.nn.elu)
    save(tmp_path / "two", none, operation=lambda x: tf.nn.relu(tf.math.erf(x)))
    with pytest.raises(ValueError, match=r"saved_model.pb.*one of.*'Elu'"):
        saved_model_weights.SavedGraph(tmp_path / "elu").activation("gelu_tanh")
    with pytest.raises(ValueError, match=r"one activation. Received: \['gelu', 'relu'"):
        saved_model_weights.SavedGraph(tmp_path / "two").activation("gelu_tanh")


@pytest.mark.parametrize(
    "changes",
    [
        {
            "activation": "gelu_tanh",
            "layer_norm_epsilon": 1e-5,
            "num_heads": 4,
            "num_groups": 1,
            "embedding_dim": 8,
            "pooling": "attention",
            "family": "albert",
        },
        *(
            pytest.param(changes, marks=pytest.mark.slow)
            for changes in (
                {},
                {"activation": "relu", "embedding_dim": 8, "family": "electra"},
                {"activation": "silu", "num_groups": 2, "num_layers": 4, **ALBERT},
                {"activation": "tanh", "num_segments": 0},
            )
        ),
    ],
)
def test_our_own_export_comes_back(tmp_path, changes):
    encoder = tiny.encoder(**changes)
    rng = np.random.default_rng(0)
    for weight in encoder.trainable_weights:
        weight.assign(rng.normal(0, 0.5, weight.shape))
    kbl.serving.export_tf_hub(encoder, tiny.preprocessor(), tmp_path / "hub")
    model = load(tmp_path / "hub" / "encoder")
    assert config_of(model) == config_of(encoder)
    inputs = tiny.preprocessor()(tiny.TEXTS)
    expected, found = encoder(inputs), model(inputs)
    assert sorted(found) == sorted(expected)
    for name in found:
        np.testing.assert_array_equal(
            *(keras.ops.convert_to_numpy(x[name]) for x in (found, expected))
        )


def test_positions_after_padding_are_refused(tmp_path):
    def skip_padding(x):
        with tf.name_scope("embeddings"):
            return tf.cast(tf.not_equal(x, 1.0), tf.float32)

    save(tmp_path, model_garden(google_formulas.bert()), operation=skip_padding)
    with pytest.raises(ValueError, match=r"saved_model.pb.*RoBERTa"):
        load(tmp_path)


@pytest.mark.slow
def test_our_own_export_with_positions_after_padding_is_refused(tmp_path):
    encoder = tiny.encoder(family="roberta", position_offset=2)
    kbl.serving.export_tf_hub(encoder, tiny.preprocessor(), tmp_path / "hub")
    with pytest.raises(ValueError, match=r"saved_model.pb.*RoBERTa"):
        load(tmp_path / "hub" / "encoder")


def test_poolings(tmp_path):
    save(tmp_path, model_garden(google_formulas.bert()))
    with pytest.warns(UserWarning, match=r"not used: \['pooler_transform/bias', 'poo"):
        assert list(load(tmp_path, None).output) == ["sequence_output"]
    with pytest.warns(UserWarning, match=r"random weights; it has 2 weights that"):
        load(tmp_path, "attention")


def test_a_head_beside_the_encoder_is_one_warning(tmp_path):
    extra = {"bert/cls/predictions/output_bias/bias": np.zeros(3, np.float32)}
    save(tmp_path, model_garden(google_formulas.bert()) | extra)
    with pytest.warns(UserWarning, match=r"not used: \['bert/cls/predict") as caught:
        load(tmp_path)
    assert len(caught) == 1


QUERY = "transformer/layer_1/self_attention/query/kernel"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v: v.pop(QUERY), f"lacks 1 tensors: .*{QUERY}"),
        (
            lambda v: v.update({QUERY: v[QUERY][:5]}),
            rf"{QUERY}.*\(16, 2, 8\).*\(5, 2, 8",
        ),
        (lambda v: v.update({QUERY: v[QUERY].astype(int)}), f"{QUERY}.*int64"),
        (
            lambda v: v.update({QUERY.replace("query", "gate"): v[QUERY]}),
            "does not account for.*self_attention/gate",
        ),
        (
            lambda v: v.pop("position_embedding/embeddings"),
            "lacks.*position_embedding/",
        ),
        (lambda v: v.pop("word_embeddings/embeddings"), "must hold an encoder"),
    ],
)
def test_variables_that_do_not_fit(tmp_path, change, message):
    variables = model_garden(google_formulas.bert())
    change(variables)
    save(tmp_path, variables)
    with pytest.raises(ValueError, match=rf"variables.*{message}"):
        load(tmp_path)


def test_two_variables_of_one_name(tmp_path):
    module = tf.Module()
    module.parts = [tf.Variable([1.0], name="x/kernel") for _ in range(2)]
    tf.saved_model.save(module, str(tmp_path))
    with pytest.raises(ValueError, match=r"two variables named 'x/kernel'"):
        load(tmp_path)


def test_heads_must_be_told(tmp_path):
    variables = google_formulas.bert()
    plain = {
        k: x.reshape(variables_shape(x)) for k, x in model_garden(variables).items()
    }
    save(tmp_path, plain)
    with pytest.raises(ValueError, match=r"saved_model.pb.*number of heads.*query"):
        load(tmp_path)


def variables_shape(value):
    """Without the axis of heads."""
    return (16, 16) if value.ndim == 3 else value.shape


def test_broken_files(tmp_path):
    variables = model_garden(google_formulas.bert())
    for end in (".index", ".data-00000-of-00001"):
        directory = save(tmp_path / end, variables)
        damage(directory / "variables", end, shortened)
        with pytest.raises(ValueError, match=r"variables.*cannot be read"):
            load(directory)
    directory = save(tmp_path / "graph", variables)
    (directory / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ValueError, match=r"saved_model.pb cannot be read"):
        load(directory)


def test_a_checkpoint_by_names_is_no_saved_model(tmp_path):
    (tmp_path / "variables").mkdir()
    google_formulas.save(tmp_path / "variables" / "variables", google_formulas.bert())
    with pytest.raises(ValueError, match=r"variables must be of TensorFlow 2"):
        load(tmp_path)


def test_layers_that_share_weights_are_bounded(tmp_path):
    save(tmp_path, model_garden(google_formulas.albert()), num_outputs=600)
    with pytest.raises(ValueError, match=r"`num_layers` must be at most 512.*: 600"):
        kbl.load_encoder(tmp_path)


def test_index_that_lists_more_than_is_stored(tmp_path):
    save(tmp_path, model_garden(google_formulas.bert()))
    damage(tmp_path / "variables", ".data-00000-of-00001", shortened)
    with pytest.raises(ValueError, match=r"index lists \d+ bytes. Received: data"):
        kbl.load_encoder(tmp_path)
