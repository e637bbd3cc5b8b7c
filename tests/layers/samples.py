"""Small inputs that the layer tests share."""

import keras
import numpy as np

from keras_bert_lite import EncoderConfig, layers
from keras_bert_lite.models import encoder_parts
from tests.policies import dtype_policy

HIDDEN = 8
STATES = np.random.default_rng(0).normal(size=(2, 5, HIDDEN)).astype("float32")
PADDING_MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "bool")
SEQUENCE_IDS = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], "int32")
TOKEN_IDS = np.array([[2, 7, 3, 0, 0], [2, 5, 9, 4, 3]], "int32")
SEGMENT_IDS = np.array([[0, 0, 1, 0, 0], [0, 0, 0, 1, 1]], "int32")
POSITION_IDS = np.array([[0, 1, 0, 1, 2], [5, 4, 3, 2, 1]], "int32")
SIZES = {
    "vocabulary_size": 12,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": HIDDEN,
    "intermediate_dim": 12,
    "max_sequence_length": 6,
    "initializer_range": 0.2,
}


MAKERS = {
    layers.DisentangledAttention: encoder_parts.make_attention,
    layers.Embeddings: encoder_parts.make_embeddings,
    layers.Encoder: encoder_parts.make_blocks,
    layers.EncoderBlock: encoder_parts.make_block,
    layers.FeedForward: encoder_parts.make_feed_forward,
    layers.RelativeBiasTable: encoder_parts.make_relative_bias,
    layers.RelativeTable: encoder_parts.make_relative_table,
    layers.SelfAttention: encoder_parts.make_attention,
    layers.TokenConvolution: encoder_parts.make_convolution,
}


def maker(kind, **fields):
    """Returns what makes a layer from fields of a small configuration.

    What is no field is an argument of the function of `encoder_parts`.
    """
    names = EncoderConfig.__dataclass_fields__

    def make(dtype=None, **given):
        own = {name: x for name, x in given.items() if name not in names}
        changes = {name: x for name, x in given.items() if name in names}
        with dtype_policy(dtype or keras.config.dtype_policy()):
            return MAKERS[kind](EncoderConfig(**{**SIZES, **fields, **changes}), **own)

    return make
