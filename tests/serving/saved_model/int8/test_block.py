"""The int8 form of a block."""

import numpy as np
import pytest
import tensorflow as tf

from keras_bert_lite import layers
from keras_bert_lite.serving.saved_model.int8.block import in_int8, with_recorders
from tests.conformance import randomize

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
X = np.random.default_rng(0).normal(size=(3, 7, 32)).astype("float32")


@pytest.mark.parametrize(
    ("arguments", "norm"),
    [
        ({}, {}),
        ({"window": 3, "num_key_value_heads": 2}, {"center": False}),
        ({"rotary": layers.RotaryPositions(base=100.0)}, {"scale": False}),
        ({"use_bias": ["value"]}, {"axis": [1, 2]}),
    ],
)
def test_computes_what_the_block_does(arguments, norm):
    block = layers.EncoderBlock(
        attention=layers.SelfAttention(4, dropout=0.3, name="mine", **arguments),
        feed_forward=layers.FeedForward(64, activation="relu"),
        norms={"output_norm": layers.LayerNorm(**norm)},
    )
    block.build(X.shape)
    randomize(block)
    recorded = with_recorders(block)
    recorded(X)
    new = in_int8(block, recorded)
    found = tf.function(new, autograph=False)(X)
    np.testing.assert_allclose(found, block(X), atol=0.2)
    # An argument that is lost would be read as its default.
    assert new.attention.get_config() == block.attention.get_config()
