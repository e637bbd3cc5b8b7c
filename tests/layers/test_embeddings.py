"""Token, segment and position embeddings."""

import keras
import numpy as np
import pytest

from keras_bert_lite import layers
from keras_bert_lite.config import Norms
from tests import formulas
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import HIDDEN, POSITION_IDS, SEGMENT_IDS, TOKEN_IDS, maker

make = maker(layers.Embeddings)


def test_factorized_conforms():
    check_layer(
        maker(layers.Embeddings, embedding_dim=4, project_before_norm=True),
        {
            "token_ids": TOKEN_IDS,
            "segment_ids": SEGMENT_IDS,
            "position_ids": POSITION_IDS,
        },
    )


def test_with_task_types_conforms():
    make_layer = maker(layers.Embeddings, num_task_types=2, norms=Norms(bias=False))
    check_layer(make_layer, {"token_ids": TOKEN_IDS})


def random_layer(**kwargs) -> layers.Embeddings:
    layer = make(**kwargs)
    layer(TOKEN_IDS)
    randomize(layer)
    return layer


def sum_of_tables(layer, segment_ids, position_ids):
    total = (
        to_numpy(layer.token_embedding.embeddings)[TOKEN_IDS]
        + to_numpy(layer.segment_embedding.embeddings)[segment_ids]
        + to_numpy(layer.position_embedding.embeddings)[position_ids]
    )
    return formulas.layer_norm(layer.layer_norm, total)


def test_equals_the_formula():
    layer = random_layer()
    expected = sum_of_tables(layer, SEGMENT_IDS, np.arange(5))
    assert_all_close(layer(TOKEN_IDS, segment_ids=SEGMENT_IDS), expected)


def test_inputs_are_of_the_first_task_type():
    layer, plain = random_layer(num_task_types=3), random_layer()
    weights = {x.path.split("/", 1)[1]: to_numpy(x).copy() for x in layer.weights}
    types = weights.pop("task_embedding/embeddings")
    assert types.shape == (3, HIDDEN)
    weights["segment_embedding/embeddings"] += types[0]
    for variable in plain.weights:
        variable.assign(weights[variable.path.split("/", 1)[1]])
    assert_all_close(layer(TOKEN_IDS, SEGMENT_IDS), plain(TOKEN_IDS, SEGMENT_IDS))


def test_absent_segments_are_zero():
    layer = random_layer()
    expected = layer(TOKEN_IDS, segment_ids=np.zeros_like(TOKEN_IDS))
    assert_all_close(layer(TOKEN_IDS), expected)


@pytest.mark.parametrize("position_ids", [POSITION_IDS, POSITION_IDS[1]])
def test_takes_positions(position_ids):
    layer = random_layer()
    expected = sum_of_tables(layer, SEGMENT_IDS, position_ids)
    assert_all_close(layer(TOKEN_IDS, SEGMENT_IDS, position_ids), expected)


def test_looks_up_and_finishes():
    layer = random_layer(embedding_dim=4, project_before_norm=True)
    other = TOKEN_IDS[::-1].copy()
    found = layer.finish(layer.token_vectors(other), TOKEN_IDS, SEGMENT_IDS, None)
    assert_all_close(found, layer(other, SEGMENT_IDS))


def test_narrow_tables_are_projected_before_the_normalization():
    layer = random_layer(embedding_dim=4, project_before_norm=True)
    norm, layer.layer_norm = layer.layer_norm, None
    narrow = sum_of_tables(layer, SEGMENT_IDS, np.arange(5))
    assert narrow.shape == (2, 5, 4)
    expected = formulas.layer_norm(norm, formulas.dense(layer.projection, narrow))
    layer.layer_norm = norm
    assert_all_close(layer(TOKEN_IDS, SEGMENT_IDS), expected)


def test_tables_of_full_width_need_no_projection():
    layer = random_layer()
    assert layer.projection is None
    assert layer.count_params() == (12 + 6 + 2) * HIDDEN + 2 * HIDDEN


def test_the_encoder_projects_factorized_embeddings():
    assert random_layer(embedding_dim=4).hidden_dim == 4  # ALBERT, ELECTRA
    for width in (4, HIDDEN):  # whatever the width
        stack = maker(layers.Encoder, embedding_dim=width)()
        x = np.random.default_rng(0).normal(size=(2, 5, width)).astype("float32")
        plain = maker(layers.Encoder)()
        assert stack(x)["sequence_output"].shape == (2, 5, HIDDEN)
        randomize(stack)
        plain.build((2, 5, HIDDEN))
        extra = stack.count_params() - plain.count_params()
        assert extra == (width + 1) * HIDDEN
        for block, other in zip(stack.blocks, plain.blocks, strict=True):
            other.set_weights(block.get_weights())
        expected = plain(formulas.dense(stack.projection, x).astype("float32"))
        assert_all_close(stack(x), expected)


def test_positions_after_the_padding_id():
    layer = random_layer(position_offset=2, max_sequence_length=6)
    assert layer.position_embedding.input_dim == 8
    ids = np.array([[5, 1, 7, 1]], "int32")  # 1 is padding: it has no position
    rows = to_numpy(layer._position_rows(keras.ops.convert_to_tensor(ids), None))
    np.testing.assert_array_equal(rows, [[2, 1, 3, 1]])
    restarted = keras.ops.convert_to_tensor(np.array([[0, 1, 0, 1]], "int32"))
    rows = to_numpy(layer._position_rows(ids, restarted))
    np.testing.assert_array_equal(rows, [[2, 3, 2, 3]])


def test_without_segments_and_positions():
    layer = random_layer(num_segments=0, max_sequence_length=None)
    assert layer.count_params() == 12 * HIDDEN + 2 * HIDDEN
    assert_all_close(layer(TOKEN_IDS, SEGMENT_IDS), layer(TOKEN_IDS))
    long = np.zeros((1, 50), "int32")
    assert layer(long).shape == (1, 50, HIDDEN)


def test_returns_the_table_that_a_head_scores_against():
    layer = random_layer(embedding_dim=4, project_before_norm=True)
    output, table = layer(TOKEN_IDS, return_table=True)
    assert_all_close(output, layer(TOKEN_IDS))
    assert_all_close(table, to_numpy(layer.token_embedding.embeddings))
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    assert_all_close(layers.VocabularyScores()(x, table), x @ to_numpy(table).T)


def test_a_quantized_table_has_the_values_of_its_rows():
    layer = random_layer()
    table = to_numpy(layer.table())
    layer.token_embedding.quantize("int8")
    assert_all_close(layer.table(), table, tolerance=0.02)
    layer.token_embedding.enable_lora(2)
    ids = np.arange(12, dtype="int32")[None]
    assert_all_close(layer.table(), layer.token_vectors(ids)[0])


def test_projection_before_the_normalization_has_no_bias():
    layer = random_layer(embedding_dim=4, project_before_norm=True)
    layer(TOKEN_IDS)
    assert not layer.projection.use_bias
    assert tuple(layer.layer_norm.gamma.shape) == (HIDDEN,)


def test_drops_out_in_training_only():
    layer = random_layer(dropout=0.5)
    assert_all_close(layer(TOKEN_IDS, training=False), layer(TOKEN_IDS))
    dropped = to_numpy(layer(TOKEN_IDS, training=True)) == 0
    assert dropped.any()
    assert not dropped.all()


@pytest.mark.parametrize(
    "token_ids",
    [
        np.array([1, 2, 3], "int32"),
        np.ones((2, 3, 4), "int32"),
        np.ones((2, 3), "float32"),
    ],
)
def test_refuses_ids_of_another_kind(token_ids):
    with pytest.raises(ValueError, match="`token_ids` must be integers of shape"):
        make()(token_ids)


def test_refuses_sequences_longer_than_the_position_table():
    with pytest.raises(ValueError, match=r"length 7, expected .* max_seq.*=6"):
        make()(np.ones((2, 7), "int32"))


@pytest.mark.tensorflow(reason="TensorFlow checks ids, on CPUs")
@pytest.mark.parametrize("token_id", [-1, 12])
def test_refuses_ids_outside_the_table(token_id):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError, match="12 is not in"):
        make()(np.array([[token_id]], "int32"))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("vocabulary_size", 0),
        ("hidden_dim", -8),
        ("max_sequence_length", 5.5),
        ("num_segments", True),
        ("embedding_dim", 0),
        ("dropout", 1.0),
        ("dropout", -0.1),
    ],
)
def test_refuses_arguments_out_of_range(argument, value):
    with pytest.raises(ValueError, match=f"`{argument}` must be .*Received: {value}"):
        make(**{argument: value})


@pytest.mark.parametrize("name", ["segment_ids", "position_ids"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 4)])
def test_refuses_ids_of_another_shape(name, shape):
    message = rf"`{name}` must have the shape .* of `token_ids`, \(2, 5\)"
    with pytest.raises(ValueError, match=message):
        make()(TOKEN_IDS, **{name: np.zeros(shape, "int32")})
