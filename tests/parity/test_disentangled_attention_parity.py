"""DeBERTa's layers against the modules of transformers, with random weights."""

import keras
import numpy as np
import pytest

from keras_bert_lite.checkpoints.hugging_face import deberta_fields
from keras_bert_lite.config import EncoderConfig, RelativePositions
from keras_bert_lite.layers.attention.relative_positions import table_rows
from keras_bert_lite.models.encoder_parts import make_attention, make_convolution
from tests.conformance import to_numpy

torch = pytest.importorskip("torch")
hugging_face = pytest.importorskip("transformers.models.deberta_v2.modeling_deberta_v2")
pytestmark = pytest.mark.parity
HIDDEN, HEADS, LONGEST = 24, 3, 40
SIZES = {"max_sequence_length": 64, "hidden_dim": HIDDEN, "num_heads": HEADS}
MASK = np.arange(LONGEST) < np.array([[LONGEST], [33], [1]])
STATES = np.random.default_rng(0).normal(size=(3, LONGEST, HIDDEN)).astype("float32")


def configuration(**changes):
    torch.manual_seed(0)
    return hugging_face.DebertaV2Config(
        **{
            "hidden_size": HIDDEN,
            "num_attention_heads": HEADS,
            "relative_attention": True,
            "max_position_embeddings": 64,
            "max_relative_positions": 64,
            "position_buckets": -1,
            "pos_att_type": ["p2c", "c2p"],
            **changes,
        }
    )


def encoder_config(**changes):
    sizes = {"vocabulary_size": 1, "num_layers": 1, "intermediate_dim": 1}
    return EncoderConfig(hidden_dim=HIDDEN, num_heads=HEADS, **sizes, **changes)


STRINGS = (None, "", "c2p", " C2P|p2c ", "p2c | c2p", "p2p|c2p")
LISTS = ([], ["c2p"], ["p2c", "c2p"], [" c2p"], ["C2P"], ["c2p", "p2p"])


@pytest.mark.parametrize("value", [*STRINGS, *LISTS])
def test_terms_are_those_that_transformers_reads(value):
    """Or refused, where it passes over an entry."""
    theirs = configuration(pos_att_type=value).pos_att_type or []
    understood = [x for x in theirs if x]
    raw = {"pos_att_type": value, "relative_attention": True}
    if set(understood) <= {"c2p", "p2c"}:
        found = deberta_fields.read(SIZES, raw)["relative_positions"]
        assert sorted(found.terms) == sorted(understood)
        return
    with pytest.raises(ValueError, match="`pos_att_type` must be from"):
        deberta_fields.read(SIZES, raw)


def randomized(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module.eval()


def parameters(module):
    """The parameters of linear layers as Keras has them."""
    return [module.weight.detach().numpy().T, module.bias.detach().numpy()]


def attentions(config):
    """The attention of transformers and that of this package."""
    module = randomized(hugging_face.DebertaV2Attention(config))
    longest, buckets = config.max_relative_positions, config.position_buckets
    relative = RelativePositions(
        max_distance=longest if longest > 0 else 64,
        buckets=buckets if buckets > 0 else None,
        terms=config.pos_att_type,
        share_projections=getattr(config, "share_att_key", False),
    )
    layer = make_attention(encoder_config(relative_positions=relative))
    layer.build(STATES.shape)
    inner = module.self
    names = {
        "query": inner.query_proj,
        "key": inner.key_proj,
        "value": inner.value_proj,
        "output_dense": module.output.dense,
        "position_key": getattr(inner, "pos_key_proj", None),
        "position_query": getattr(inner, "pos_query_proj", None),
    }
    for name, linear in names.items():
        assert (linear is None) == (getattr(layer, name) is None)
        if linear is not None:
            getattr(layer, name).set_weights(parameters(linear))
    return module, layer


CONFIGURATIONS = {
    "version 3": {"position_buckets": 16, "share_att_key": True},
    "clamped buckets": {"position_buckets": 8, "max_relative_positions": 20},
    "every distance": {},
    "longer than the span": {"max_relative_positions": 12},
    "from the positions": {"max_relative_positions": -1},
    "to positions": {"pos_att_type": ["c2p"], "position_buckets": 16},
    "from positions": {"pos_att_type": ["p2c"], "position_buckets": 16},
    "no term": {"pos_att_type": []},
}


@pytest.mark.parametrize("changes", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_attention(changes):
    config = configuration(**changes)
    module, layer = attentions(config)
    table = np.random.default_rng(1).normal(size=layer.table_shape).astype("float32")
    with torch.no_grad():
        states, expected = module.self(
            torch.tensor(STATES),
            torch.tensor(MASK)[:, None, None, :],
            output_attentions=True,
            rel_embeddings=torch.tensor(table),
        )
        expected = [module.output.dense(states).numpy(), expected.numpy()]
    outputs = layer(
        STATES, padding_mask=MASK, relative_embeddings=table, return_weights=True
    )
    for got, want in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(to_numpy(got), want, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("buckets", [2, 3, 8, 15, 16, 64, 256, 257])
@pytest.mark.parametrize("longest", [131, 256, 512, 513, 1024, 4096])
def test_rows_of_distances(buckets, longest):
    distances = np.arange(-9000, 9001)
    expected = hugging_face.make_log_bucket_position(
        torch.tensor(distances), buckets, longest
    )
    expected = np.clip(expected.long().numpy() + buckets, 0, 2 * buckets - 1)
    assert (table_rows(distances, longest, buckets) == expected).all()
    tensors = keras.ops.convert_to_tensor(distances.astype("int32"))
    assert (to_numpy(table_rows(tensors, longest, buckets)) == expected).all()


@pytest.mark.parametrize(
    ("size", "groups", "activation"),
    [(3, 1, "tanh"), (5, 3, "gelu"), (1, 1, "relu")],
)
def test_convolution(size, groups, activation):
    config = configuration(
        conv_kernel_size=size, conv_groups=groups, conv_act=activation
    )
    module = randomized(hugging_face.ConvLayer(config))
    layer = make_convolution(
        encoder_config(
            convolution_size=size,
            convolution_groups=groups,
            convolution_activation=activation,
            layer_norm_epsilon=config.layer_norm_eps,
        )
    )
    layer.build(STATES.shape)
    kernel = module.conv.weight.detach().numpy().transpose(2, 1, 0)
    layer.convolution.set_weights([kernel, module.conv.bias.detach().numpy()])
    layer.norm.set_weights([x.detach().numpy() for x in module.LayerNorm.parameters()])
    residual = np.flip(STATES, 0).copy()
    mask = MASK.copy()
    mask[0, 5] = False
    with torch.no_grad():
        expected = module(
            torch.tensor(STATES * mask[:, :, None]),
            torch.tensor(residual),
            torch.tensor(mask.astype("int64")),
        )
    outputs = layer(STATES, residual=residual, padding_mask=mask)
    np.testing.assert_allclose(to_numpy(outputs), expected.numpy(), atol=2e-5)
