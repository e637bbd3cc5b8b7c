"""The encoder block and the stack of blocks."""

import functools

import keras
import numpy as np
import pytest

from keras_bert_lite import layers
from keras_bert_lite._private import keras_mask
from keras_bert_lite.config import ACTIVATIONS
from tests import formulas
from tests.conformance import assert_all_close, check_layer, randomize, to_numpy
from tests.layers.samples import HIDDEN, PADDING_MASK, SEQUENCE_IDS, STATES, maker

SHARED = layers.SelfAttention(2)
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


def test_parts_combine():
    """A layer that is subclassed and swapped in trains and is saved with its parts."""
    blocks = [
        layers.EncoderBlock(
            attention=layers.SelfAttention(
                2, window=window, rotary=layers.RotaryPositions()
            ),
            feed_forward=layers.FeedForward(12, gated=True, activation="silu"),
            normalize_first=True,
        )
        for window in (None, 4)
    ]
    bias = layers.RelativeBiasTable(2)
    make = functools.partial(
        layers.Encoder, blocks=blocks, relative_bias=bias, final_norm=True
    )
    stack = random_layer(make)
    expected = formulas.encoder(stack, STATES, PADDING_MASK[:, None, :])
    assert_all_close(stack(**INPUTS)["sequence_output"], real(expected), 1e-4)


def test_blocks_with_heads_of_other_sizes_rotate_by_their_own():
    blocks = [
        layers.EncoderBlock(
            attention=layers.SelfAttention(heads, rotary=layers.RotaryPositions()),
            intermediate_dim=12,
        )
        for heads in (1, 4)
    ]
    stack = random_layer(functools.partial(layers.Encoder, blocks=blocks))
    expected = formulas.encoder(stack, STATES, PADDING_MASK[:, None, :])
    assert_all_close(stack(**INPUTS)["sequence_output"], real(expected), 1e-4)


def test_only_blocks_that_read_relative_embeddings_get_them():
    attention = layers.DisentangledAttention(2, max_distance=4)
    blocks = [
        layers.EncoderBlock(2, 12),
        layers.EncoderBlock(attention=attention, intermediate_dim=12),
    ]
    table = layers.RelativeTable(4)
    stack = random_layer(
        functools.partial(layers.Encoder, blocks=blocks, relative_table=table)
    )
    assert stack(**INPUTS)["sequence_output"].shape == STATES.shape
    with pytest.raises(ValueError, match="`relative_table` must be None, as none"):
        layers.Encoder(2, 2, 12, relative_table=layers.RelativeTable(4))(STATES)


def test_a_model_is_a_feed_forward_network(tmp_path):
    network = keras.Sequential([keras.layers.Dense(12, "relu"), keras.layers.Dense(8)])
    x = keras.Input((None, 8))
    block = layers.EncoderBlock(2, feed_forward=network)
    model = keras.Model(x, layers.Encoder(blocks=[block])(x)["sequence_output"])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert_all_close(loaded(STATES), model(STATES))


def test_a_subclass_of_the_encoder_keeps_its_class():
    class Mine(layers.Encoder):
        pass

    twin = random_layer(functools.partial(Mine, 1, 2, 12)).with_outputs(True, False)
    assert type(twin) is Mine


@pytest.mark.parametrize("kind", ["attention", "block"])
def test_outputs_carry_the_padding_mask(kind):
    layer = {
        "attention": layers.SelfAttention(2),
        "block": layers.EncoderBlock(2, 12),
    }[kind]
    assert (to_numpy(keras_mask(layer(**INPUTS))) == PADDING_MASK).all()
    assert keras_mask(layer(STATES)) is None
    x, mask = keras.Input((None, 8)), keras.Input((None,), dtype="bool")
    assert keras_mask(layer(x, padding_mask=mask)) is mask
    average = keras.layers.GlobalAveragePooling1D()
    alone = average(layer(STATES[:1, :3]))
    assert_all_close(average(layer(**INPUTS))[:1], alone, 1e-5)


def test_block_refuses_a_network_of_another_width():
    block = layers.EncoderBlock(2, feed_forward=keras.layers.Dense(1))
    with pytest.raises(ValueError, match="`feed_forward` must return as many columns"):
        block(STATES)


def test_symbolic_inputs_are_checked():
    for layer in (layers.SelfAttention(2), layers.Encoder(1, 2, 12)):
        layer(STATES)
        with pytest.raises(ValueError, match="`x` must have the width 8"):
            layer(keras.Input((None, 4)))
        with pytest.raises(ValueError, match="`padding_mask` must have the shape"):
            layer(keras.Input((5, 8)), padding_mask=keras.Input((4,), dtype="bool"))


def flags(stack):
    return [layer.trainable for layer in stack._flatten_layers(include_self=False)]


def test_remembers_which_blocks_are_frozen():
    stack = random_layer(make_stack, num_layers=3)
    stack.blocks[0].trainable = stack.blocks[2].trainable = False
    config = stack.get_config()
    assert [x["config"]["trainable"] for x in config["blocks"]] == [False, True, False]
    twin = layers.Encoder.from_config(config)
    assert twin.get_config() == config
    twin(STATES)
    assert flags(twin) == flags(stack)
    assert len(twin.trainable_weights) == len(stack.trainable_weights)
    stack.trainable = False
    frozen = layers.Encoder.from_config(stack.get_config())
    frozen(STATES)
    assert not any(flags(frozen))


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
    with pytest.raises(ValueError, match=r"`x` must have the width 8. Received: "):
        random_layer(make_stack)(np.ones((2, 5, 6), "float32"))


def test_refuses_inputs_of_another_rank():
    for layer in (layers.Encoder(1, 2, 12), layers.EncoderBlock(2, 12)):
        with pytest.raises(ValueError, match=r"`x` must have the shape .*\(5, 8\)"):
            layer(STATES[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_heads": 2}, "`intermediate_dim` or `feed_forward` must be given"),
        ({"intermediate_dim": 12}, "`num_heads` or `attention` must be given"),
        (
            {"num_heads": 2, "attention": layers.SelfAttention(2)},
            "`num_heads` or `attention` must be given, and not both",
        ),
        ({"num_heads": 2, "intermediate_dim": 0}, "`intermediate_dim` must be a pos"),
        ({"attention": SHARED, "intermediate_dim": 8, "dropout": 2}, "`dropout` must"),
        (
            {"num_heads": 2, "intermediate_dim": 8, "norms": {"last": True}},
            "`norms` must be a dictionary of layers with names among",
        ),
        (
            {
                "num_heads": 2,
                "intermediate_dim": 8,
                "norms": {},
                "normalize_first": True,
            },
            "`normalize_first` must be False with `norms`",
        ),
    ],
)
def test_block_refuses_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        layers.EncoderBlock(**arguments)


def test_block_refuses_other_parts():
    with pytest.raises(
        TypeError, match="`attention` must be of the class `SelfAttention`"
    ):
        layers.EncoderBlock(attention="mine", intermediate_dim=8)
    with pytest.raises(TypeError, match="`feed_forward` must be of the class `Layer`"):
        layers.EncoderBlock(2, feed_forward=3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "`num_layers` or `blocks` must be given"),
        ({"num_layers": 0}, ValueError, "`num_layers` must be a positive integer"),
        ({"num_layers": 513}, ValueError, "`num_layers` must be at most 512"),
        ({"blocks": []}, TypeError, r"`blocks` must be a list of `EncoderBlock`s"),
        ({"blocks": ["b"]}, TypeError, r"`blocks\[0\]` must be an `EncoderBlock`.*'b'"),
        (
            {"blocks": [layers.EncoderBlock(2, 8), None]},
            TypeError,
            r"`blocks\[1\]` must be an `EncoderBlock`. Received: None",
        ),
        (
            {"blocks": [layers.EncoderBlock(2, 8)] * 2},
            ValueError,
            "`blocks` must be different layers",
        ),
        (
            {"blocks": [layers.EncoderBlock(2, 8, name="a") for _ in "ab"]},
            ValueError,
            "`blocks` must have names of their own",
        ),
        (
            {
                "blocks": [
                    layers.EncoderBlock(attention=SHARED, intermediate_dim=8)
                    for _ in "ab"
                ]
            },
            ValueError,
            "`blocks` must have an attention and a feed-forward network of their own",
        ),
        (
            {"num_layers": 3, "blocks": [layers.EncoderBlock(2, 8) for _ in "ab"]},
            ValueError,
            "The number of `blocks` must divide `num_layers`",
        ),
        (
            {"num_heads": 2, "blocks": [layers.EncoderBlock(2, 8)]},
            ValueError,
            "`num_heads` must be None with `blocks`. Received: 2",
        ),
        (
            {"dropout": 0.5, "blocks": [layers.EncoderBlock(2, 8)]},
            ValueError,
            "`dropout` must be None with `blocks`. Received: 0.5",
        ),
        ({"final_norm": "yes"}, TypeError, "`final_norm` must be of the class `Layer`"),
        ({"max_sequence_length": 0}, ValueError, "`max_sequence_length` must be a pos"),
    ],
)
def test_stack_refuses_arguments(arguments, error, message):
    sizes = {} if "blocks" in arguments or not arguments else {"num_layers": 1}
    sizes |= {"num_heads": 2, "intermediate_dim": 8} if sizes else {}
    with pytest.raises(error, match=message):
        layers.Encoder(**{**sizes, **arguments})


def disentangled(terms) -> layers.DisentangledAttention:
    return layers.DisentangledAttention(2, max_distance=8, terms=terms)


def test_disentangled_attention_without_terms_needs_no_table():
    block = layers.EncoderBlock(attention=disentangled([]), intermediate_dim=12)
    plain = layers.EncoderBlock(num_heads=2, intermediate_dim=12)
    stacks = [layers.Encoder(blocks=[x]) for x in (block, plain)]
    outputs = []
    for stack in stacks:
        stack.build(STATES.shape)
        stack.set_weights(stacks[0].get_weights())
        outputs.append(stack(STATES, padding_mask=PADDING_MASK)["sequence_output"])
    assert_all_close(*outputs)


def test_packed_sequences_are_not_mixed_by_a_convolution():
    stack = layers.Encoder(1, 2, 12, convolution=layers.TokenConvolution())
    with pytest.raises(ValueError, match="`sequence_ids` must be None with a `conv"):
        stack(STATES, sequence_ids=SEQUENCE_IDS)
    with pytest.raises(ValueError, match="`sequence_ids` must be None with a `conv"):
        stack(keras.Input((5, HIDDEN)), sequence_ids=keras.Input((5,), dtype="int32"))


def test_stack_refuses_parts_that_do_not_fit():
    attention = disentangled(["c2p"])
    block = layers.EncoderBlock(attention=attention, intermediate_dim=12)
    with pytest.raises(ValueError, match="`relative_table` must be given, as some"):
        layers.Encoder(blocks=[block])(STATES)
    table = layers.RelativeTable(8)
    for terms in ((), None):  # of no attention, and of one without them
        attention = terms if terms is None else disentangled(terms)
        size = 2 if attention is None else None
        block = layers.EncoderBlock(size, 12, attention=attention)
        with pytest.raises(ValueError, match="`relative_table` must be None, as none"):
            layers.Encoder(blocks=[block], relative_table=table)(STATES)
    bias = layers.RelativeBiasTable(num_heads=4)
    blocks = [layers.EncoderBlock(2, 12)]
    with pytest.raises(ValueError, match="`relative_bias` must have the blocks' numb"):
        layers.Encoder(blocks=blocks, relative_bias=bias)(STATES)
