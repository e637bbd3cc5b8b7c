"""Disentangled attention."""

import functools
import math

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert_lite.layers.disentangled_attention import DisentangledAttention
from keras_bert_lite.layers.relative_positions import table_rows
from tests import formulas
from tests.conformance import (
    assert_all_close,
    check_compiled,
    check_layer,
    one_layer_model,
    randomize,
    to_numpy,
)
from tests.layers.samples import HIDDEN, PADDING_MASK, SEQUENCE_IDS, STATES

make = functools.partial(
    DisentangledAttention,
    num_heads=2,
    hidden_dim=HIDDEN,
    max_relative_positions=16,
    position_buckets=6,
    initializer_range=0.2,
)
LAYOUTS = {
    "buckets": {},
    "shared": {"share_position_projections": True},
    "every distance": {"position_buckets": None},
    "longer than the span": {"position_buckets": None, "max_relative_positions": 2},
    "c2p": {"relative_terms": ["c2p"]},
    "p2c": {"relative_terms": ["p2c"]},
    "no term": {"relative_terms": []},
}


def table_of(layer) -> np.ndarray:
    return np.random.default_rng(2).normal(size=layer.table_shape).astype("float32")


TABLE = table_of(make())
INPUTS = {
    "x": STATES,
    "padding_mask": PADDING_MASK,
    "sequence_ids": SEQUENCE_IDS,
    "relative_embeddings": TABLE,
}


def random_layer(**kwargs) -> DisentangledAttention:
    layer = make(**kwargs)
    layer.build(STATES.shape)
    randomize(layer)
    return layer


def heads(layer, x):
    """(..., H) -> (N, ..., D)."""
    return np.moveaxis(np.reshape(x, (*x.shape[:-1], layer.num_heads, -1)), -2, 0)


def formula(layer, x, table, allowed):
    """As the paper writes it, one pair of positions at a time."""
    projected = [
        heads(layer, formulas.dense(dense, x))
        for dense in (layer.query, layer.key, layer.value)
    ]
    query, key, value = projected
    scores = query @ key.swapaxes(2, 3)  # (N, B, S, S)
    for i, j in np.ndindex(scores.shape[2:]):
        row = table[
            table_rows(
                np.array(i - j), layer.max_relative_positions, layer.position_buckets
            )
        ]
        if "c2p" in layer.relative_terms:
            pk = heads(layer, formulas.dense(layer.position_key or layer.key, row))
            scores[:, :, i, j] += np.einsum("nbd,nd->nb", query[:, :, i], pk)
        if "p2c" in layer.relative_terms:
            pq = heads(layer, formulas.dense(layer.position_query or layer.query, row))
            scores[:, :, i, j] += np.einsum("nbd,nd->nb", key[:, :, j], pq)
    size = layer.hidden_dim // layer.num_heads
    scores = scores / math.sqrt(size * (1 + len(layer.relative_terms)))
    weights = formulas.softmax(np.where(allowed, scores, -np.inf))
    joined = np.moveaxis(weights @ value, 0, 2).reshape(x.shape)
    return formulas.dense(layer.output_dense, joined), weights.swapaxes(0, 1)


@pytest.mark.parametrize("layout", ["buckets", "shared"])
def test_conforms(layout):
    check_layer(functools.partial(make, **LAYOUTS[layout]), INPUTS)


def test_with_weights_conforms():
    inputs = {name: x for name, x in INPUTS.items() if name != "sequence_ids"}
    make_layer = functools.partial(make, position_buckets=None, relative_terms=["p2c"])
    inputs["relative_embeddings"] = table_of(make_layer())
    check_layer(make_layer, inputs, call={"return_weights": True})


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_equals_the_formula(layout):
    layer = random_layer(**layout)
    table = table_of(layer)
    outputs = layer(
        STATES,
        padding_mask=PADDING_MASK,
        relative_embeddings=table,
        return_weights=True,
    )
    expected = formula(layer, STATES, table, PADDING_MASK[:, None, :])
    assert_all_close(outputs, expected)


def test_packed_sequences_do_not_see_each_other():
    layer = random_layer()
    attend = functools.partial(layer, relative_embeddings=TABLE)
    packed = to_numpy(attend(STATES[:1], sequence_ids=SEQUENCE_IDS[:1]))
    assert_all_close(packed[:, :2], attend(STATES[:1, :2]))
    assert_all_close(packed[:, 2:], attend(STATES[:1, 2:]))


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="padding removal is TensorFlow's"
)
@pytest.mark.parametrize("graph", [False, True])
def test_tokens_without_padding_keep_their_distances(graph):
    import tensorflow as tf

    from keras_bert_lite.layers.unpadding import RealTokens

    layer = random_layer()
    mask = np.array(
        [[1, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1], [1] * 6, [0] * 6, [1, 1, 0, 0, 0, 0]],
        "bool",
    )
    x = np.random.default_rng(3).normal(size=(*mask.shape, HIDDEN)).astype("float32")
    padded = to_numpy(layer(x, padding_mask=mask, relative_embeddings=TABLE))

    def without_padding(x, mask):
        rows = RealTokens(mask, layer.num_heads)
        return rows.unpack(layer(rows.pack(x), rows=rows, relative_embeddings=TABLE))

    if graph:
        shape = tf.TensorSpec([None, None, HIDDEN]), tf.TensorSpec([None, None], "bool")
        without_padding = tf.function(without_padding, input_signature=shape)
    removed = without_padding(tf.constant(x), tf.constant(mask))
    assert_all_close(removed, padded * mask[:, :, None])


def test_compiles():
    model = one_layer_model(random_layer(), INPUTS)
    check_compiled(model, INPUTS, to_numpy(model(INPUTS)))


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_a_row_of_padding_stays_finite(policy):
    layer = random_layer(dtype=policy)
    mask = np.array([[0] * 5, [1] * 5], "bool")
    output, weights = layer(
        STATES, padding_mask=mask, relative_embeddings=TABLE, return_weights=True
    )
    assert np.all(np.isfinite(to_numpy(output)))
    assert np.all(np.isfinite(to_numpy(weights)))


def test_large_scores_stay_finite_in_float16():
    layer = random_layer(dtype="mixed_float16")
    output = layer(
        30 * STATES, padding_mask=PADDING_MASK, relative_embeddings=30 * TABLE
    )
    assert np.all(np.isfinite(to_numpy(output)))


def test_half_precision_is_close():
    exact, half = random_layer(), random_layer(dtype="mixed_float16")
    half.set_weights(exact.get_weights())
    expected = exact(STATES, relative_embeddings=TABLE)
    assert_all_close(half(STATES, relative_embeddings=TABLE), expected, tolerance=0.02)


def test_drops_positions_out_in_training_only():
    layer = random_layer(dropout=0.0, position_dropout=0.9)
    attend = functools.partial(layer, STATES, relative_embeddings=TABLE)
    expected = to_numpy(attend())
    assert_all_close(attend(training=False), expected)
    assert not np.allclose(to_numpy(attend(training=True)), expected)


def test_projects_only_the_rows_in_use():
    layer = random_layer(position_buckets=None)
    table = np.full(layer.table_shape, np.nan, "float32")
    table[16 - 5 : 16 + 6] = 0.0  # distances -5 to 5
    assert np.all(np.isfinite(to_numpy(layer(STATES, relative_embeddings=table))))


def test_without_terms_needs_no_table():
    layer = random_layer(relative_terms=[])
    allowed = np.ones((2, 1, 5), "bool")
    assert_all_close(layer(STATES), formulas.attention(layer, STATES, allowed)[0])


def test_gradients_reach_the_table():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("differentiates with TensorFlow")
    import tensorflow as tf

    layer, table = random_layer(), tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        output = layer(STATES, relative_embeddings=table)
        loss = ops.sum(output**3)
    assert np.abs(tf.convert_to_tensor(tape.gradient(loss, table))).max() > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_relative_positions": 0}, "`max_relative_positions` must be .*: 0"),
        ({"position_buckets": 0}, "`position_buckets` must be a positive int.*: 0"),
        ({"position_buckets": 1}, "`position_buckets` must be at least 2.*kets=1, "),
        ({"position_buckets": 30}, "`max_relative_positions` - 1.*positions=16"),
        ({"relative_terms": ["p2p"]}, "`relative_terms` must be one of .*: 'p2p'"),
        ({"position_dropout": 1.0}, r"`position_dropout` must be in .*: 1.0"),
        ({"num_heads": 3}, "`num_heads` must divide `hidden_dim`"),
    ],
)
def test_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_refuses_another_table():
    message = r"`relative_embeddings` must have the shape \(12, 8\). Received: \(10, 8"
    with pytest.raises(ValueError, match=message):
        make()(STATES, relative_embeddings=TABLE[:10])
    with pytest.raises(ValueError, match=r"`relative_embeddings` must be .*: None"):
        make()(STATES)
