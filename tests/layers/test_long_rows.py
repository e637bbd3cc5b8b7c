"""Rows that attention reads in blocks give the numbers of whole rows."""

import keras
import numpy as np
import pytest

from keras_bert_lite import layers
from keras_bert_lite.config import LocalAttention, Norms, Rotary
from keras_bert_lite.layers.execution import query_blocks
from keras_bert_lite.layers.execution.engines import for_engine
from tests.conformance import assert_all_close, randomize, to_numpy
from tests.layers.samples import HIDDEN, maker

LENGTH = 23
ROTARY = Rotary(base=100.0, local_base=10.0)
ONE_BASE = Rotary(base=100.0, local_base=None)
LOCAL = LocalAttention(window=4, global_every=3)
X = np.random.default_rng(1).normal(size=(4, LENGTH, HIDDEN)).astype("float32")
LENGTHS = np.array([LENGTH, 11, 3, 0])
MASK = np.arange(LENGTH) < LENGTHS[:, None]
HOLES = MASK & (np.random.default_rng(2).random(MASK.shape) < 0.8)
tensorflow_only = pytest.mark.tensorflow(reason="padding removal is TensorFlow's")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(query_blocks, "LONG", 8)
    monkeypatch.setattr(query_blocks, "QUERIES", 5)


def stack(**changes) -> layers.Encoder:
    """An encoder of four layers, the first and the last of them global."""
    fields = {
        "num_layers": 4,
        "max_sequence_length": None,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "rotary": ROTARY,
        "local_attention": LOCAL,
        "norms": Norms(before=True, after=False, first=False, final=True),
    }
    unpadding = changes.pop("unpadding", False)
    made = maker(layers.Encoder, **{**fields, **changes})(unpadding=unpadding)
    made.build(X.shape)
    randomize(made)
    return made


def traced_stack(**changes) -> layers.Encoder:
    """A global and a local layer: graphs of four would take twice as long."""
    return stack(num_layers=2, **changes)


def output(made, mask=MASK, x=X, **arguments):
    return to_numpy(made(x, padding_mask=mask, **arguments)["sequence_output"])


def whole(made, mask=MASK, x=X, **arguments):
    """The output of layers that return their weights, which need whole rows."""
    return output(made.with_outputs(False, attentions=True), mask, x, **arguments)


@pytest.mark.parametrize("mask", [MASK, HOLES, None], ids=["padding", "holes", "none"])
def test_padded_rows(mask):
    made = stack()
    assert_all_close(output(made, mask), whole(made, mask), 1e-5)


@tensorflow_only
@pytest.mark.parametrize("mask", [MASK, HOLES], ids=["padding", "holes"])
def test_rows_without_padding(mask):
    made = stack()
    expected = whole(made, mask)
    made.unpadding = True
    assert_all_close(output(made, mask), expected, 1e-5)


@tensorflow_only
def test_a_graph_reads_short_and_long_rows():
    import tensorflow as tf

    made = traced_stack()
    cut = (LENGTH, 7, 2)
    expected = [whole(made, MASK[:, :x], X[:, :x]) for x in cut]
    made.unpadding = True
    shapes = [tf.TensorSpec([None, None, HIDDEN]), tf.TensorSpec([None, None], "bool")]
    traced = tf.function(
        lambda x, mask: made(x, padding_mask=mask)["sequence_output"],
        input_signature=shapes,
    )
    for length, numbers in zip(cut, expected, strict=True):
        assert_all_close(traced(X[:, :length], MASK[:, :length]), numbers, 1e-5)
    assert_all_close(traced(X[:1], MASK[:1]), expected[0][:1], 1e-5)
    assert traced(X[:, :0], MASK[:, :0]).shape == (4, 0, HIDDEN)
    assert not np.any(traced(X, np.zeros_like(MASK)))


@tensorflow_only
@pytest.mark.parametrize("unpadding", [True, False])
@pytest.mark.parametrize("checkpointing", [True, False])
def test_gradients(unpadding, checkpointing):
    import tensorflow as tf

    made = traced_stack()
    expected = gradients(made.with_outputs(False, attentions=True))
    made.unpadding = unpadding
    made.gradient_checkpointing = checkpointing
    mask = tf.TensorSpec([None, None], "bool")
    traced = tf.function(lambda x: gradients(made, x), input_signature=[mask])
    for ours, theirs in zip(traced(MASK), expected, strict=True):
        assert_all_close(ours, theirs, 1e-4)


def gradients(made, mask=MASK):
    import tensorflow as tf

    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = made(x, padding_mask=mask, training=True)["sequence_output"]
        loss = tf.reduce_sum(tf.square(y) * tf.constant(X[:, ::-1]))
    weights = [weight.value for weight in made.trainable_weights]
    return tape.gradient(loss, [x, *weights])


@tensorflow_only
@pytest.mark.parametrize("fuses_attention", [False, True])
def test_an_engine_may_ask_for_whole_rows(fuses_attention):
    import tensorflow as tf

    made = traced_stack(unpadding=True)
    shapes = [tf.TensorSpec([None, None, HIDDEN]), tf.TensorSpec([None, None], "bool")]
    with for_engine(fuses_attention):
        traced = tf.function(
            lambda x, mask: made(x, padding_mask=mask)["sequence_output"]
        ).get_concrete_function(*shapes)
    kinds = {x.type for x in traced.graph.get_operations()}
    assert not [x for x in kinds if x.endswith(("If", "While"))]
    assert_all_close(traced(tf.constant(X), tf.constant(MASK)), whole(made), 1e-5)


def test_packed_rows_do_not_see_each_other():
    made = stack()
    sequences = np.repeat([[0, 1, 2]], [9, 5, 9], axis=1).repeat(4, axis=0)
    mask = np.ones_like(MASK)
    before = output(made, mask, sequence_ids=sequences)
    assert_all_close(before, whole(made, mask, sequence_ids=sequences), 1e-5)
    changed = np.where(sequences[:, :, None] == 1, X + 1, X)
    after = output(made, mask, changed, sequence_ids=sequences)
    others = sequences != 1
    np.testing.assert_array_equal(after[others], before[others])
    assert np.abs(after[~others] - before[~others]).min(-1).max() > 0.01


@pytest.mark.parametrize("window", [2 * LENGTH, 2 * LENGTH + 1])
def test_a_window_as_long_as_the_text_is_full_attention(window):
    local = {"window": window, "global_every": 3}
    made = stack(local_attention=local, rotary=ONE_BASE)
    full = stack(local_attention=None, rotary=ONE_BASE)
    full.set_weights(made.get_weights())
    assert_all_close(output(made), output(full), 1e-5)


@pytest.mark.parametrize("window", [1, 3, 5])
def test_windows_of_odd_sizes(window):
    made = stack(local_attention={"window": window, "global_every": 4})
    assert_all_close(output(made), whole(made), 1e-5)


def test_dropout_of_the_weights():
    keras.utils.set_random_seed(0)
    made = stack(attention_dropout=0.5)
    ones, another = (
        to_numpy(made(X, padding_mask=MASK, training=True)["sequence_output"])
        for _ in range(2)
    )
    assert np.isfinite(ones).all()
    assert np.abs(ones - another).max() > 0.01
    assert_all_close(output(made), whole(made), 1e-5)
