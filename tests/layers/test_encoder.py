"""The encoder block and the stack of blocks."""

import functools

import numpy as np
import pytest

from keras_bert_lite import layers
from keras_bert_lite.config import ACTIVATIONS
from tests import formulas
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import PADDING_MASK, SEQUENCE_IDS, STATES, maker

INPUTS = {"x": STATES, "padding_mask": PADDING_MASK}
make_block = maker(layers.EncoderBlock)
make_stack = maker(layers.Encoder)


def test_shared_stack_with_internals_conforms():
    make = functools.partial(
        make_stack, num_groups=1, hidden_states=True, attentions=True
    )
    check_layer(make, INPUTS)


def test_checkpointing_stack_conforms():
    make = functools.partial(make_stack, num_layers=1, gradient_checkpointing=True)
    check_layer(make, INPUTS)


def random_layer(make, **kwargs):
    layer = make(**kwargs)
    layer(STATES)
    randomize(layer)
    return layer


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_block_equals_the_formula(activation):
    block = random_layer(make_block, activation=activation)
    expected = formulas.block(block, STATES, PADDING_MASK[:, None, :])
    assert_all_close(block(**INPUTS), expected, tolerance=1e-4)


def test_block_without_a_mask_sees_everything():
    block = random_layer(make_block)
    expected = formulas.block(block, STATES, np.ones((2, 1, 5), "bool"))
    assert_all_close(block(STATES), expected, tolerance=1e-4)


def test_the_two_gelus_differ():
    exact = random_layer(make_block, activation="gelu")
    approximate = random_layer(make_block, activation="gelu_tanh")
    difference = np.abs(to_numpy(exact(STATES)) - to_numpy(approximate(STATES)))
    assert 1e-5 < difference.max() < 1e-2


def test_block_returns_the_weights_of_its_attention():
    block = random_layer(make_block)
    output, weights = block(**INPUTS, return_weights=True)
    assert_all_close(output, block(**INPUTS))
    assert_all_close(weights, block.attention(**INPUTS, return_weights=True)[1])


@pytest.mark.parametrize("sublayer", ["attention", "feed_forward"])
def test_block_drops_out_the_output_of(sublayer):
    block = random_layer(make_block, dropout=0.5, attention_dropout=0.0)
    other = {"attention": block.feed_forward, "feed_forward": block.attention}
    silent = other[sublayer].output_dense  # what it adds is 0, dropped or not
    silent.set_weights([np.zeros_like(x) for x in silent.get_weights()])
    exact, dropped = (
        to_numpy(block(STATES, training=choice)) for choice in (False, True)
    )
    assert not np.allclose(dropped, exact)


def real(x):
    """Zeros where there is padding."""
    return to_numpy(x) * PADDING_MASK[:, :, None]


def test_stack_runs_its_blocks_in_order():
    stack = random_layer(make_stack)
    x = STATES
    for block in stack.blocks:
        x = block(x, padding_mask=PADDING_MASK)
    assert_all_close(stack(**INPUTS)["sequence_output"], real(x))


def test_packed_sequences_do_not_see_each_other():
    stack = random_layer(make_stack)
    packed = stack(STATES[:1], sequence_ids=SEQUENCE_IDS[:1])["sequence_output"]
    alone = stack(STATES[:1, 2:])["sequence_output"]
    assert_all_close(to_numpy(packed)[:, 2:], alone)


def test_shared_layers_are_one_block_repeated():
    stack = random_layer(make_stack, num_layers=3, num_groups=1)
    block = random_layer(make_block)
    assert stack.count_params() == block.count_params()
    block.set_weights(stack.get_weights())
    x = STATES
    for _ in range(3):
        x = block(x, padding_mask=PADDING_MASK)
    assert_all_close(stack(**INPUTS)["sequence_output"], real(x))


@pytest.mark.parametrize("num_groups", [None, 1])
def test_returns_its_internals(num_groups):
    stack = random_layer(
        make_stack,
        num_layers=3,
        num_groups=num_groups,
        hidden_states=True,
        attentions=True,
    )
    outputs = stack(**INPUTS)
    assert list(outputs) == ["sequence_output", "hidden_states", "attentions"]
    assert [x.shape for x in outputs["hidden_states"]] == [(2, 5, 8)] * 4
    assert [x.shape for x in outputs["attentions"]] == [(2, 2, 5, 5)] * 3
    assert_all_close(outputs["hidden_states"][0], real(STATES))
    assert_all_close(outputs["hidden_states"][-1], outputs["sequence_output"])


def test_attentions_are_those_of_the_blocks():
    stack = random_layer(make_stack, attentions=True, hidden_states=True)
    outputs = stack(**INPUTS)
    for i, block in enumerate(stack.blocks):
        _, weights = block(
            outputs["hidden_states"][i], PADDING_MASK, return_weights=True
        )
        queries = PADDING_MASK[:, None, :, None]
        assert_all_close(
            to_numpy(outputs["attentions"][i]) * queries, to_numpy(weights) * queries
        )


def test_with_outputs_keeps_the_weights():
    stack = random_layer(make_stack)
    twin = stack.with_outputs(hidden_states=True, attentions=False)
    outputs = twin(**INPUTS)
    assert sorted(outputs) == ["hidden_states", "sequence_output"]
    assert_all_close(outputs["sequence_output"], stack(**INPUTS)["sequence_output"])
    assert [id(x) for x in twin.weights] == [id(x) for x in stack.weights]


def flags(stack):
    return [layer.trainable for layer in stack._flatten_layers(include_self=False)]


def test_remembers_which_blocks_are_frozen():
    stack = random_layer(make_stack, num_layers=3)
    stack.blocks[0].trainable = stack.blocks[2].trainable = False
    config = stack.get_config()
    assert config["frozen"] == ["block_0", "block_2"]
    twin = layers.Encoder.from_config(config)
    assert twin.get_config() == config
    assert flags(twin) == flags(stack)
    twin(STATES)
    assert len(twin.trainable_weights) == len(stack.trainable_weights)
    stack.trainable = False
    assert not any(flags(layers.Encoder.from_config(stack.get_config())))


def test_outputs_are_those_of_a_stack_that_checkpoints():
    stack = random_layer(make_stack, dropout=0.0, attention_dropout=0.0)
    expected = stack(**INPUTS, training=True)["sequence_output"]
    stack.gradient_checkpointing = True
    assert_all_close(stack(**INPUTS, training=True)["sequence_output"], expected)
    assert stack.with_outputs(False, True).gradient_checkpointing


def test_refuses_other_checkpointing():
    with pytest.raises(TypeError, match=r"`gradient_checkpointing` must .*: 'yes'"):
        make_stack(gradient_checkpointing="yes")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("num_heads", 3),
        ("num_layers", 0),
        ("hidden_dim", 0),
        ("intermediate_dim", 1.5),
        ("activation", "swish"),
        ("dropout", 1),
        ("attention_dropout", -1),
    ],
)
def test_refuses_arguments(argument, value):
    with pytest.raises(ValueError, match=f"`{argument}` must .*Received: .*{value}"):
        make_stack(**{argument: value})


def test_refuses_inputs_of_another_width():
    with pytest.raises(ValueError, match=r"`x` must have the shape .*, 8.* Received: "):
        make_stack()(np.ones((2, 5, 6), "float32"))
