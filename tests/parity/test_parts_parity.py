"""Encoders of other architectures, said by parts, against transformers."""

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.config import (
    Biases,
    LocalAttention,
    Norms,
    RelativeBias,
    RelativePositions,
    Rotary,
)
from keras_bert_lite.layers.attention.relative_bias import bias_buckets
from tests.conformance import to_numpy

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.parity
HIDDEN, HEADS, LENGTH, PAD = 24, 3, 40, 1
SIZES = {
    "vocab_size": 50,
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 5,
    "intermediate_size": 20,
    "pad_token_id": PAD,
    "attn_implementation": "eager",
}
OURS = {
    "vocabulary_size": 50,
    "hidden_dim": HIDDEN,
    "num_heads": HEADS,
    "num_layers": 5,
    "intermediate_dim": 20,
    "num_segments": 0,
    "pooling": None,
}
MASK = np.arange(LENGTH) < np.array([[LENGTH], [33], [7], [1]])
IDS = np.random.default_rng(0).integers(5, 50, size=MASK.shape)
INPUTS = {
    "token_ids": np.where(MASK, IDS, PAD).astype("int32"),
    "segment_ids": np.zeros(MASK.shape, "int32"),
    "padding_mask": MASK,
}


def states(module) -> list[np.ndarray]:
    """The hidden states of a model of transformers, with random weights."""
    with torch.no_grad():
        outputs = module(
            input_ids=torch.tensor(INPUTS["token_ids"]).long(),
            attention_mask=torch.tensor(MASK).long(),
            output_hidden_states=True,
        )
    return [x.numpy() * MASK[:, :, None] for x in outputs.hidden_states]


def randomized(module):
    torch.manual_seed(0)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return module.eval()


def tensor(x) -> np.ndarray:
    return x.detach().numpy()


def fill(layer, *values) -> None:
    """Sets the weights of a layer: kernels of linear layers as torch has them."""
    if isinstance(layer, keras.layers.Dense):
        values = (values[0].T, *values[1:])
    layer.set_weights([x for x in values if x is not None])


def copy(layer, module) -> None:
    """Copies a module without parts into a layer."""
    fill(layer, *(tensor(x) for x in module.parameters()))


def check(ours: kbl.EncoderConfig, theirs, copy_weights) -> None:
    module = randomized(theirs)
    model = kbl.encoder(ours, hidden_states=True)
    embeddings, stack = model.get_layer("embeddings"), model.get_layer("blocks")
    copy_weights(module, embeddings, stack)
    expected = states(module)
    assert np.abs(expected[-1]).max() > 0.1
    choices = [False]
    if keras.backend.backend() == "tensorflow":
        choices.append(True)
    for choice in choices:
        stack.unpadding = choice
        got = model(INPUTS)["hidden_states"]
        for x, y in zip(got, expected, strict=True):
            scale = max(1.0, np.abs(y).max())
            np.testing.assert_allclose(to_numpy(x) / scale, y / scale, atol=2e-5)


def copy_modernbert(module, embeddings, stack) -> None:
    copy(embeddings.token_embedding, module.embeddings.tok_embeddings)
    copy(embeddings.layer_norm, module.embeddings.norm)
    copy(stack.final_norm, module.final_norm)
    for block, layer in zip(stack.blocks, module.layers, strict=True):
        attention, fed = block.attention, block.feed_forward
        parts = (attention.query, attention.key, attention.value)
        for part, weights in zip(parts, split(layer.attn.Wqkv, 3), strict=True):
            fill(part, *weights)
        parts = (fed.intermediate_dense, fed.gate_dense)
        for part, weights in zip(parts, split(layer.mlp.Wi, 2), strict=True):
            fill(part, *weights)
        copy(attention.output_dense, layer.attn.Wo)
        copy(fed.output_dense, layer.mlp.Wo)
        copy(block.feed_forward_input_norm, layer.mlp_norm)
        assert (block.attention_input_norm is None) == (block is stack.blocks[0])
        if block.attention_input_norm is not None:
            copy(block.attention_input_norm, layer.attn_norm)


def split(linear, count):
    """The weights and biases, if any, of linear layers that are joined in one."""
    parameters = [np.split(tensor(x), count) for x in linear.parameters()]
    return list(zip(*parameters, strict=True))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention_bias": True, "mlp_bias": True, "norm_bias": True},
        {"local_attention": 7, "global_attn_every_n_layers": 2},
        {"hidden_activation": "silu", "local_attention": 4},
    ],
)
def test_modernbert(changes):
    fields = {"local_attention": 12, **changes}
    theirs = transformers.ModernBertConfig(**SIZES, **fields)
    every = changes.get("global_attn_every_n_layers", 3)
    attention, fed = theirs.attention_bias, theirs.mlp_bias
    names = ("query", "key", "value", "attention_output")
    config = kbl.EncoderConfig(
        **OURS,
        max_sequence_length=None,
        layer_norm_epsilon=theirs.norm_eps,
        activation=theirs.hidden_activation,
        gated=True,
        rotary=Rotary(),
        local_attention=LocalAttention(
            window=theirs.local_attention, global_every=every
        ),
        norms=Norms(
            before=True, after=False, first=False, final=True, bias=theirs.norm_bias
        ),
        biases=Biases(**dict.fromkeys(names, attention), intermediate=fed, output=fed),
    )
    check(config, transformers.ModernBertModel(theirs), copy_modernbert)


def copy_post_norm(block, layer, output_norm, attention_norm) -> None:
    copy(block.attention_norm, attention_norm)
    copy(block.feed_forward.intermediate_dense, layer.intermediate.dense)
    copy(block.feed_forward.output_dense, layer.output.dense)
    copy(block.output_norm, output_norm)


def copy_mpnet(module, embeddings, stack) -> None:
    theirs = module.embeddings
    copy(embeddings.token_embedding, theirs.word_embeddings)
    copy(embeddings.position_embedding, theirs.position_embeddings)
    copy(embeddings.layer_norm, theirs.LayerNorm)
    copy(stack.relative_bias.embedding, module.encoder.relative_attention_bias)
    for block, layer in zip(stack.blocks, module.encoder.layer, strict=True):
        inner = layer.attention.attn
        copy(block.attention.query, inner.q)
        copy(block.attention.key, inner.k)
        copy(block.attention.value, inner.v)
        copy(block.attention.output_dense, inner.o)
        copy_post_norm(block, layer, layer.output.LayerNorm, layer.attention.LayerNorm)


def test_mpnet():
    theirs = transformers.MPNetConfig(**SIZES, max_position_embeddings=LENGTH + 2)
    config = kbl.EncoderConfig(
        **OURS,
        max_sequence_length=LENGTH,
        position_offset=2,
        layer_norm_epsilon=theirs.layer_norm_eps,
        relative_bias=RelativeBias(num_buckets=theirs.relative_attention_num_buckets),
    )
    module = transformers.MPNetModel(theirs, add_pooling_layer=False)
    check(config, module, copy_mpnet)


@pytest.mark.parametrize(("buckets", "longest"), [(32, 128), (32, 600), (64, 1000)])
def test_buckets_of_biases(buckets, longest):
    from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

    distances = torch.arange(-longest, longest + 1)
    rows = MPNetEncoder.relative_position_bucket(-distances, buckets, longest)
    assert (bias_buckets(buckets, longest) == rows.numpy()).all()
    far = MPNetEncoder.relative_position_bucket(
        torch.tensor([-9000, 9000]), buckets, longest
    )
    assert (bias_buckets(buckets, longest)[[-1, 0]] == far.numpy()).all()


def copy_deberta(module, embeddings, stack) -> None:
    theirs = module.embeddings
    copy(embeddings.token_embedding, theirs.word_embeddings)
    if embeddings.position_embedding is not None:
        copy(embeddings.position_embedding, theirs.position_embeddings)
    copy(embeddings.layer_norm, theirs.LayerNorm)
    if stack.relative_table is not None:
        copy(stack.relative_table.embedding, module.encoder.rel_embeddings)
    for block, layer in zip(stack.blocks, module.encoder.layer, strict=True):
        ours, inner = block.attention, layer.attention.self
        # The rows of each head lie together: its query, its key, its value.
        joined = tensor(inner.in_proj.weight).reshape(HEADS, 3, -1, HIDDEN)
        query, key, value = (joined[:, i].reshape(HIDDEN, HIDDEN) for i in range(3))
        fill(ours.query, query, tensor(inner.q_bias))
        fill(ours.key, key)
        fill(ours.value, value, tensor(inner.v_bias))
        for name, linear in {
            "position_key": getattr(inner, "pos_proj", None),
            "position_query": getattr(inner, "pos_q_proj", None),
        }.items():
            assert (getattr(ours, name, None) is None) == (linear is None)
            if linear is not None:
                copy(getattr(ours, name), linear)
        copy(ours.output_dense, layer.attention.output.dense)
        norm = layer.attention.output.LayerNorm
        copy_post_norm(block, layer, layer.output.LayerNorm, norm)


@pytest.mark.parametrize(
    ("terms", "distance", "absolute"),
    [
        (["c2p", "p2c"], 64, False),
        (["c2p", "p2c"], 64, True),
        (["c2p", "p2c"], 11, False),
        (["p2c"], 20, True),
        (["c2p"], 64, False),
        (["c2p", "p2c", "c2p"], 64, False),
    ],
)
def test_deberta(terms, distance, absolute):
    theirs = transformers.DebertaConfig(
        **SIZES,
        max_position_embeddings=64,
        type_vocab_size=0,
        relative_attention=True,
        max_relative_positions=distance,
        pos_att_type=terms,
        position_biased_input=absolute,
    )
    config = kbl.EncoderConfig(
        **OURS,
        max_sequence_length=64 if absolute else None,
        layer_norm_epsilon=theirs.layer_norm_eps,
        relative_positions=RelativePositions(
            max_distance=distance,
            terms=terms,
            share_projections=False,
            normalize=False,
        ),
        biases=Biases(key=False),
    )
    check(config, transformers.DebertaModel(theirs), copy_deberta)
