"""The encoder as a functional model."""

import warnings

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.config import POOLINGS
from keras_bert_lite.models.encoder_model import config_of, encoder_layers
from tests import fresh_process, tiny
from tests.conformance import INT8_STEP, assert_all_close, randomize, to_numpy
from tests.models.samples import ids, padded, tensorflow_only
from tests.policies import dtype_policy


def random_encoder(hidden_states=False, attentions=False, **changes) -> keras.Model:
    model = kbl.encoder(tiny.config(**changes), hidden_states, attentions)
    randomize(model)
    return model


def shapes(structure):
    return keras.tree.map_structure(lambda x: tuple(x.shape), structure)


def test_inputs_by_name():
    model = kbl.encoder(tiny.config())
    assert {x.name: x.dtype for x in model.inputs} == {
        "token_ids": "int32",
        "segment_ids": "int32",
        "padding_mask": "bool",
    }
    assert {x.shape for x in model.inputs} == {(None, None)}


def test_outputs_by_name_and_shape():
    outputs = random_encoder()(ids())
    assert shapes(outputs) == {"sequence_output": (2, 5, 16), "pooled_output": (2, 16)}


def test_internals_by_name_and_shape():
    outputs = random_encoder(hidden_states=True, attentions=True)(ids())
    assert shapes(outputs) == {
        "sequence_output": (2, 5, 16),
        "pooled_output": (2, 16),
        "hidden_states": [(2, 5, 16)] * 3,
        "attentions": [(2, 2, 5, 5)] * 2,
    }


def test_symbolic_outputs_have_the_names_of_the_eager_ones():
    model = random_encoder(hidden_states=True, attentions=True)
    keras.tree.assert_same_structure(model.output, model(ids()))


def test_no_pooling_means_no_pooled_output():
    assert list(random_encoder(pooling=None)(ids())) == ["sequence_output"]


CONFIGURATIONS = [
    *({"pooling": pooling} for pooling in POOLINGS),
    {"embedding_dim": 4, "num_groups": 1, "activation": "gelu_tanh"},
]


@pytest.mark.parametrize("changes", CONFIGURATIONS)
def test_padding_changes_nothing(changes):
    model, inputs = random_encoder(**changes), ids()
    expected, outputs = model(inputs), model(padded(inputs, 4))
    assert_all_close(outputs["pooled_output"], expected["pooled_output"], 1e-4)
    real = inputs["padding_mask"]
    assert_all_close(
        to_numpy(outputs["sequence_output"])[:, :5][real],
        to_numpy(expected["sequence_output"])[real],
        1e-4,
    )


def test_a_row_alone_gives_what_it_gives_in_a_batch():
    model, inputs = random_encoder(), ids(lengths=(5, 3))
    alone = {name: x[1:, :3] for name, x in inputs.items()}
    assert_all_close(
        model(alone)["pooled_output"],
        to_numpy(model(inputs)["pooled_output"])[1:],
        1e-4,
    )


def test_segments_count():
    model, inputs = random_encoder(), ids()
    other = {**inputs, "segment_ids": 1 - inputs["segment_ids"]}
    expected = to_numpy(model(inputs)["pooled_output"])
    assert not np.allclose(to_numpy(model(other)["pooled_output"]), expected)


def test_with_internals_keeps_the_weights():
    model, inputs = random_encoder(), ids()
    twin = kbl.with_hidden_states(model)
    assert {id(x) for x in twin.weights} == {id(x) for x in model.weights}
    outputs, expected = twin(inputs), model(inputs)
    assert len(outputs["hidden_states"]) == 3
    assert len(outputs["attentions"]) == 2
    for name, value in expected.items():
        assert_all_close(outputs[name], value)


@pytest.mark.parametrize("name", ["hidden_states", "attentions"])
def test_with_internals_returns_what_is_asked_for(name):
    asked = {"hidden_states": False, "attentions": False, name: True}
    twin = kbl.with_hidden_states(random_encoder(), **asked)
    assert set(twin.output) == {"sequence_output", "pooled_output", name}


def test_internals_can_be_left_out_again():
    model = random_encoder(hidden_states=True, attentions=True)
    plain = kbl.with_hidden_states(model, hidden_states=False, attentions=False)
    assert set(plain.output) == {"sequence_output", "pooled_output"}


@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": None},
        {"pooling": "attention", "initializer_range": 0.1, "num_segments": 3},
        {
            "embedding_dim": 4,
            "num_groups": 1,
            "activation": "relu",
            "dropout": 0.2,
            "attention_dropout": 0.3,
            "layer_norm_epsilon": 1e-5,
        },
    ],
)
def test_config_of_an_encoder_is_the_one_it_was_built_from(changes):
    config = tiny.config(**changes)
    assert config_of(kbl.encoder(config)) == config
    assert config_of(kbl.with_hidden_states(kbl.encoder(config))) == config


def test_initial_weights_have_the_configured_deviation():
    embeddings, _, _ = encoder_layers(
        kbl.encoder(tiny.config(vocabulary_size=2000, initializer_range=0.5))
    )
    values = to_numpy(embeddings.token_embedding.embeddings)
    assert values.std() == pytest.approx(0.5, rel=0.2)


def test_computes_in_mixed_precision():
    with dtype_policy("mixed_bfloat16"):
        model = kbl.encoder(tiny.config(), hidden_states=True)
    outputs = keras.tree.flatten(model(ids()))
    dtypes = {keras.backend.standardize_dtype(x.dtype) for x in outputs}
    assert dtypes == {"bfloat16"}
    assert {x.dtype for x in model.trainable_weights} == {"float32"}
    assert all(np.all(np.isfinite(to_numpy(x))) for x in outputs)


@pytest.mark.parametrize("internals", [False, True])
def test_saved_models_load_in_another_process(tmp_path, internals):
    model = random_encoder(embedding_dim=4)
    if internals:
        model = kbl.with_hidden_states(model)
    model.save(tmp_path / "encoder.keras")
    outputs = fresh_process.call_saved(tmp_path / "encoder.keras", ids())
    assert_all_close(outputs, keras.tree.flatten(model(ids())))


def test_loaded_models_still_know_their_configuration(tmp_path):
    model = random_encoder(pooling="mean")
    model.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    assert config_of(loaded) == config_of(model)
    outputs = kbl.with_hidden_states(loaded)(ids())
    assert_all_close(outputs["sequence_output"], model(ids())["sequence_output"])


@pytest.mark.parametrize("changes", [{}, {"embedding_dim": 4, "num_groups": 1}])
def test_quantized_models_load_in_another_process(tmp_path, changes):
    model = kbl.encoder(tiny.config(**changes))
    exact = model(ids())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have a `quantize` method")
        model.quantize("int8")
    quantized = model(ids())
    assert_all_close(quantized, exact, tolerance=0.2)
    model.save(tmp_path / "encoder.keras")
    outputs = fresh_process.call_saved(tmp_path / "encoder.keras", ids())
    assert_all_close(outputs, keras.tree.flatten(quantized), INT8_STEP)
    kbl.with_hidden_states(model).save(tmp_path / "internals.keras")
    outputs = keras.saving.load_model(tmp_path / "internals.keras")(ids())
    sequence = quantized["sequence_output"]
    assert_all_close(outputs["sequence_output"], sequence, INT8_STEP)


def test_clones_take_the_weights():
    model = random_encoder()
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    assert_all_close(clone(ids()), model(ids()))


@tensorflow_only
@pytest.mark.parametrize("token_id", [-1, 1000])
def test_refuses_token_ids_outside_the_vocabulary(token_id):
    import tensorflow as tf

    inputs = ids()
    inputs["token_ids"][0, 1] = token_id
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
        random_encoder().predict(inputs, verbose=0)


def test_refuses_sequences_longer_than_the_position_table():
    inputs = ids(lengths=(25, 20), width=25)
    with pytest.raises(ValueError, match=r"length 25, expected .*length=24"):
        random_encoder()(inputs)


@pytest.mark.parametrize(
    "function", [config_of, encoder_layers, kbl.with_hidden_states]
)
def test_refuses_models_that_are_no_encoders(function):
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2)(inputs))
    with pytest.raises(ValueError, match="`model` must be an encoder made by"):
        function(model)


def test_internals_add_no_variables():
    model = tiny.encoder()
    twin = kbl.with_hidden_states(model)
    assert len(twin.variables) == len(model.variables)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*does not have a `quantize` method")
        twin.quantize("int8")


@tensorflow_only
def test_negative_ids_are_refused():
    model = tiny.encoder()
    ids = {
        "token_ids": np.array([[1, -1]], "int32"),
        "segment_ids": np.zeros((1, 2), "int32"),
        "padding_mask": np.ones((1, 2), bool),
    }
    with pytest.raises(Exception, match="is not in"):
        model(ids)
