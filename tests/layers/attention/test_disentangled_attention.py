"""Disentangled attention."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from keras_bert_lite import layers
from keras_bert_lite.config import Biases, RelativePositions
from keras_bert_lite.layers.attention.disentangled_attention import (
    DisentangledAttention,
)
from tests import formulas
from tests.conformance import (
    assert_all_close,
    check_compiled,
    check_layer,
    one_layer_model,
    randomize,
    to_numpy,
)
from tests.layers.samples import HIDDEN, PADDING_MASK, SEQUENCE_IDS, STATES, maker

POSITIONS = {"max_distance": 16, "buckets": 6, "share_projections": False}


def make(attention_dropout=0.1, dropout=0.1, **arguments) -> DisentangledAttention:
    """Makes the layer of fields of its relative positions and its own arguments."""
    names = RelativePositions.__dataclass_fields__
    own = {name: x for name, x in arguments.items() if name not in names}
    changes = {name: x for name, x in arguments.items() if name in names}
    relative = RelativePositions(**{**POSITIONS, **changes})
    fields = {"attention_dropout": attention_dropout, "dropout": dropout}
    return maker(DisentangledAttention, relative_positions=relative, **fields)(**own)


LAYOUTS = {
    "buckets": {},
    "shared": {"share_projections": True},
    "every distance": {"buckets": None},
    "longer than the span": {"buckets": None, "max_distance": 2},
    "c2p": {"terms": ["c2p"]},
    "p2c": {"terms": ["p2c"]},
    "no term": {"terms": []},
    "a term that counts twice": {"terms": ["c2p", "p2c", "c2p"]},
    "without biases of keys": {"biases": Biases(key=False)},
}


def table_of(layer) -> np.ndarray:
    shape = 2 * (layer.buckets or layer.max_distance), HIDDEN
    return np.random.default_rng(2).normal(size=shape).astype("float32")


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


def test_with_shared_projections_conforms():
    check_layer(functools.partial(make, share_projections=True), INPUTS)


def test_with_weights_conforms():
    inputs = {name: x for name, x in INPUTS.items() if name != "sequence_ids"}
    make_layer = functools.partial(make, buckets=None, terms=["p2c"])
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
    expected = formulas.attention(layer, STATES, PADDING_MASK[:, None, :], table)
    assert_all_close(outputs, expected)


def test_packed_sequences_do_not_see_each_other():
    layer = random_layer()
    attend = functools.partial(layer, relative_embeddings=TABLE)
    packed = to_numpy(attend(STATES[:1], sequence_ids=SEQUENCE_IDS[:1]))
    assert_all_close(packed[:, :2], attend(STATES[:1, :2]))
    assert_all_close(packed[:, 2:], attend(STATES[:1, 2:]))


@pytest.mark.tensorflow(reason="padding removal is TensorFlow's")
@pytest.mark.parametrize("graph", [False, True])
def test_tokens_without_padding_keep_their_distances(graph):
    import tensorflow as tf

    from keras_bert_lite.layers.execution.real_tokens import RealTokens

    layer = random_layer()
    mask = np.array(
        [[1, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1], [1] * 6, [0] * 6, [1, 1, 0, 0, 0, 0]],
        "bool",
    )
    x = np.random.default_rng(3).normal(size=(*mask.shape, HIDDEN)).astype("float32")
    padded = to_numpy(layer(x, padding_mask=mask, relative_embeddings=TABLE))

    def without_padding(x, mask):
        rows = RealTokens([layer.reads], mask, whole_rows=True)
        return rows.with_padding(
            layer(rows.without_padding(x), layout=rows, relative_embeddings=TABLE)
        )

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
    layer = random_layer(attention_dropout=0.0, dropout=0.9)
    attend = functools.partial(layer, STATES, relative_embeddings=TABLE)
    expected = to_numpy(attend())
    assert_all_close(attend(training=False), expected)
    assert not np.allclose(to_numpy(attend(training=True)), expected)


def test_projects_only_the_rows_in_use():
    layer = random_layer(buckets=None)
    table = np.full(layer.table_shape, np.nan, "float32")
    table[16 - 5 : 16 + 6] = 0.0  # distances -5 to 5
    assert np.all(np.isfinite(to_numpy(layer(STATES, relative_embeddings=table))))


def test_without_terms_needs_no_table():
    layer = random_layer(terms=[])
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
        ({"max_distance": 0}, "`max_distance` must be .*: 0"),
        ({"buckets": 0}, "`buckets` must be a positive int.*: 0"),
        ({"buckets": 1}, "`buckets` must be at least 2.*buckets=1, "),
        ({"buckets": 30}, "`max_distance` - 1. Received: buckets=30, max_distance=16"),
        ({"terms": ["p2p"]}, r"`terms` must be a list of .*: \['p2p'\]"),
        ({"terms": "c2p"}, "`terms` must be a list of some of .*: 'c2p'"),
        ({"share_projections": 1}, "`share_projections` must be True or False.*: 1"),
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


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_key_value_heads", 1), ("rotary", layers.RotaryPositions())],
)
def test_refuses_other_positions_and_shared_heads(name, value):
    with pytest.raises(ValueError, match=f"`{name}` must be None with relative pos"):
        DisentangledAttention(2, 8, **{name: value})
