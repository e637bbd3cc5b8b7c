"""Small inputs that the layer tests share."""

import numpy as np

from keras_bert_lite import EncoderConfig

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


def maker(kind, **fields):
    """Returns what makes a layer of fields of a small configuration.

    What is no field is an argument of the layer.
    """
    names = EncoderConfig.__dataclass_fields__

    def make(**given):
        own = {name: x for name, x in given.items() if name not in names}
        changes = {name: x for name, x in given.items() if name in names}
        return kind(EncoderConfig(**{**SIZES, **fields, **changes}), **own)

    return make
