"""The parts of a configuration, against their formulas, in every layout of rows."""

import functools

import numpy as np
import pytest

from keras_bert_lite import layers
from keras_bert_lite.config import (
    Biases,
    LocalAttention,
    Norms,
    RelativeBias,
    RelativePositions,
    Rotary,
)
from keras_bert_lite.layers.attention.relative_bias import RelativeBiasTable
from tests import formulas
from tests.conformance import (
    assert_all_close,
    check_compiled,
    check_layer,
    one_layer_model,
    randomize,
    to_numpy,
)
from tests.layers.samples import HIDDEN, PADDING_MASK, STATES, maker

tensorflow_only = pytest.mark.tensorflow(reason="padding removal is TensorFlow's")
LENGTH = 9
X = np.random.default_rng(4).normal(size=(3, LENGTH, HIDDEN)).astype("float32")
MASK = np.arange(LENGTH) < np.array([[LENGTH], [4], [1]])
SEQUENCES = np.array([[0] * 9, [0] * 3 + [1] * 6, [0, 1, 1, 1, 1, 1, 2, 2, 2]])

NO_BIASES = Biases(**dict.fromkeys(Biases.__dataclass_fields__, False))
BEFORE = Norms(before=True, after=False, first=False, final=True, bias=False)
RELATIVE = RelativePositions(max_distance=8, buckets=4)
BIAS = RelativeBias(num_buckets=8, max_distance=5)
LOCAL = LocalAttention(window=4, global_every=2)
PARTS = {
    "disentangled": {"relative_positions": RELATIVE},
    "DeBERTa 1": {
        "relative_positions": RelativePositions(
            max_distance=6, share_projections=False, normalize=False
        ),
        "biases": Biases(key=False),
    },
    "relative bias": {"relative_bias": BIAS},
    "both relative": {"relative_positions": RELATIVE, "relative_bias": BIAS},
    "rotary": {"rotary": Rotary(base=100.0, local_base=None)},
    "local": {"local_attention": LOCAL},
    "a window of an odd size": {
        "local_attention": LocalAttention(window=3, global_every=3)
    },
    "local disentangled": {"relative_positions": RELATIVE, "local_attention": LOCAL},
    "local with a bias": {"relative_bias": BIAS, "local_attention": LOCAL},
    "rotary of two bases": {
        "rotary": Rotary(base=100.0, local_base=10.0),
        "local_attention": LOCAL,
    },
    "rotary in a part of a head, scaled": {
        "rotary": Rotary(base=100.0, local_base=None, scale=2.0, share=0.5)
    },
    "rotary with a bias": {"rotary": Rotary(base=50.0), "relative_bias": BIAS},
    "norms before": {"norms": Norms(before=True, after=False)},
    "norms before and after": {"norms": Norms(before=True, final=True)},
    "no norms": {"norms": Norms(after=False)},
    "norms without bias": {"norms": Norms(bias=False), "relative_positions": RELATIVE},
    "root mean squares": {"norms": Norms(before=True, bias=False, rms=True)},
    "shared keys and values": {"num_key_value_heads": 1},
    "shared keys, rotary": {"num_key_value_heads": 1, "rotary": Rotary(base=100.0)},
    "no biases": {"biases": NO_BIASES},
    "gated": {"gated": True, "activation": "silu"},
    "gated without biases": {"gated": True, "biases": NO_BIASES},
    "ModernBERT": {
        "rotary": Rotary(base=100.0, local_base=10.0),
        "local_attention": LOCAL,
        "norms": BEFORE,
        "biases": NO_BIASES,
        "gated": True,
    },
}
every_part = pytest.mark.parametrize("fields", PARTS.values(), ids=PARTS)
# Each operation of the parts at least once, for what compiles or traces them.
COMPILED = (
    "DeBERTa 1",
    "both relative",
    "a window of an odd size",
    "local with a bias",
    "rotary in a part of a head, scaled",
    "no norms",
    "root mean squares",
    "shared keys, rotary",
    "ModernBERT",
)
every_operation = pytest.mark.parametrize(
    "fields", [PARTS[name] for name in COMPILED], ids=COMPILED
)


def stack_of(fields, **changes) -> layers.Encoder:
    """An encoder of three layers with a part, and random weights."""
    make = maker(layers.Encoder, num_layers=3)
    stack = make(unpadding=False, **{**fields, **changes})
    stack.build(X.shape)
    randomize(stack)
    return stack


def output(stack, mask=MASK, **arguments) -> np.ndarray:
    outputs = stack(X, padding_mask=mask, **arguments)
    return to_numpy(outputs["sequence_output"])


@every_part
def test_padded_rows(fields):
    stack = stack_of(fields)
    expected = formulas.encoder(stack, X, MASK[:, None, :]) * MASK[:, :, None]
    assert_all_close(output(stack), expected, 1e-4)


@tensorflow_only
@every_part
def test_rows_without_padding(fields):
    stack = stack_of(fields)
    stack.unpadding = True
    expected = formulas.encoder(stack, X, MASK[:, None, :]) * MASK[:, :, None]
    assert_all_close(output(stack), expected, 1e-4)


@tensorflow_only
@every_operation
def test_rows_without_padding_in_a_graph(fields):
    import tensorflow as tf

    stack = stack_of(fields)
    padded = output(stack)
    stack.unpadding = True
    shapes = [tf.TensorSpec([None, None, HIDDEN]), tf.TensorSpec([None, None], "bool")]
    traced = tf.function(
        lambda x, mask: stack(x, padding_mask=mask)["sequence_output"],
        input_signature=shapes,
    )
    assert_all_close(traced(X, MASK), padded, 1e-4)
    for empty in (X[:0], X[:, :0]):
        mask = MASK[: len(empty), : empty.shape[1]]
        assert traced(empty, mask).shape == empty.shape
    assert_all_close(traced(X, np.zeros_like(MASK)), np.zeros_like(X))


@every_part
def test_packed_rows(fields):
    stack = stack_of(fields)
    packed = output(stack, mask=np.ones_like(MASK), sequence_ids=SEQUENCES)
    for row, ids in enumerate(SEQUENCES):
        for number in set(ids):
            alone = X[row : row + 1, ids == number]
            allowed = np.ones((1, 1, alone.shape[1]), "bool")
            expected = formulas.encoder(stack, alone, allowed)
            assert_all_close(packed[row : row + 1, ids == number], expected, 1e-4)


@every_part
def test_returns_its_internals(fields):
    stack = stack_of(fields, hidden_states=True, attentions=True)
    outputs = stack(X, padding_mask=MASK)
    assert_all_close(outputs["hidden_states"][-1], outputs["sequence_output"])
    sums = to_numpy(outputs["attentions"][1]).sum(axis=-1)
    assert_all_close(sums, np.ones_like(sums))


@every_operation
def test_compiles(fields):
    inputs = {"x": X, "padding_mask": MASK}
    stack = stack_of(fields)
    model, expected = one_layer_model(stack, inputs), stack(**inputs)
    check_compiled(model, inputs, expected, tolerance=1e-4)  # sums of 100


def gradients(stack) -> list[np.ndarray]:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        outputs = stack(X, padding_mask=MASK, training=True)["sequence_output"]
        loss = tf.reduce_sum(outputs**3)
    variables = [x.value for x in stack.trainable_variables]
    found = tape.gradient(loss, variables)
    return [tf.convert_to_tensor(x).numpy() for x in found]


@tensorflow_only
@every_part
def test_gradients_are_those_of_padded_rows(fields):
    stack = stack_of(fields, dropout=0.0, attention_dropout=0.0)
    expected = gradients(stack)
    for change in ("unpadding", "gradient_checkpointing"):
        setattr(stack, change, True)
        scale = max(np.abs(want).max() for want in expected)
        for got, want in zip(gradients(stack), expected, strict=True):
            np.testing.assert_allclose(got / scale, want / scale, atol=1e-5)


@tensorflow_only
def test_rows_know_all_layers_once():
    from keras_bert_lite.layers.execution.real_tokens import RealTokens

    blocks = stack_of(PARTS["ModernBERT"]).blocks
    rows = RealTokens([block.attention.reads for block in blocks], MASK)
    assert {rotary.base for rotary, _ in rows.rotations} == {100.0, 10.0}
    assert [int(x) for x in rows.lengths] == [4, 9]


def test_local_layers_see_what_is_near():
    stack = stack_of(PARTS["local"], attentions=True)
    maps = [to_numpy(x) > 0 for x in stack(X)["attentions"]]
    places = np.arange(LENGTH)
    near = abs(places[:, None] - places) <= 2
    assert maps[0].all()
    assert maps[2].all()
    assert (maps[1] == near).all()


def test_buckets_are_those_of_the_formula():
    for part in (BIAS, RelativeBias(), RelativeBias(num_buckets=64, max_distance=300)):
        table = maker(RelativeBiasTable, relative_bias=part, num_heads=1)()
        table.build()
        table.embedding.set_weights([np.arange(part.num_buckets)[:, None]])
        (got,) = table.biases([400])
        wanted = np.array([formulas.bias_bucket(d, part) for d in range(-399, 400)])
        places = np.arange(400)
        assert (to_numpy(got)[0, 0] == wanted[places[:, None] - places + 399]).all()


MODERN = PARTS["ModernBERT"]


def test_stack_with_gates_and_rotations_conforms():
    make = functools.partial(maker(layers.Encoder, **MODERN), hidden_states=True)
    inputs = {"x": STATES, "padding_mask": PADDING_MASK}
    check_layer(make, inputs, leave_out=("xla",))  # see `test_compiles`


def test_stack_with_relative_biases_conforms():
    make = maker(layers.Encoder, relative_bias=BIAS)
    make = functools.partial(make, gradient_checkpointing=True)
    inputs = {"x": STATES, "padding_mask": PADDING_MASK}
    check_layer(make, inputs, leave_out=("xla",))  # see `test_compiles`


def test_block_of_a_local_layer_conforms():
    make = functools.partial(maker(layers.EncoderBlock, **MODERN), layer=1)
    check_layer(make, {"x": STATES, "padding_mask": PADDING_MASK})


def test_gated_feed_forward_conforms():
    check_layer(maker(layers.FeedForward, gated=True), {"x": STATES})


@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("gated", [False, True])
def test_feed_forward_equals_the_formula(activation, gated):
    layer = maker(layers.FeedForward)(gated=gated, activation=activation)
    layer.build(X.shape)
    randomize(layer)
    assert_all_close(layer(X), formulas.feed_forward(layer, X), 1e-4)


def test_relative_bias_conforms():
    make = maker(RelativeBiasTable, relative_bias=BIAS)
    check_layer(make, {"x": STATES})


@pytest.mark.parametrize("name", Biases.__dataclass_fields__)
def test_each_bias_can_be_left_out(name):
    relative = RelativePositions(max_distance=8, share_projections=False)
    fields = {"relative_positions": relative, "gated": True}
    plain = stack_of(fields, name="stack")
    stack = stack_of(fields, name="stack", biases=Biases(**{name: False}))
    paths = [{x.path for x in layer.weights} for layer in (plain, stack)]
    gone = {path.partition("/block_0/")[2] for path in paths[0] - paths[1]}
    wanted = {
        "query": {"attention/query/bias", "attention/position_query/bias"},
        "key": {"attention/key/bias", "attention/position_key/bias"},
        "value": {"attention/value/bias"},
        "attention_output": {"attention/output_dense/bias"},
        "intermediate": {
            "feed_forward/intermediate_dense/bias",
            "feed_forward/gate_dense/bias",
        },
        "output": {"feed_forward/output_dense/bias"},
    }
    assert gone - {""} == wanted[name]
    expected = formulas.encoder(stack, X, MASK[:, None, :]) * MASK[:, :, None]
    assert_all_close(output(stack), expected, 1e-4)
