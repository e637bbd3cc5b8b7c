import functools
import numpy as np, pytest
from keras_bert_lite import layers
from tests.conformance import check_layer

X = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
IDS = np.array([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], "int32")
make = functools.partial(layers.SelfAttention, 2, 8, initializer_range=0.2)


def test_conforms():
    check_layer(make, {"x": X, "padding_mask": MASK, "sequence_ids": IDS})


def test_conforms_w():
    check_layer(make, {"x": X, "padding_mask": MASK}, call={"return_weights": True})


def test_block():
    check_layer(
        functools.partial(layers.EncoderBlock, 2, 8, 16, initializer_range=0.2),
        {"x": X, "padding_mask": MASK},
    )


def test_enc():
    check_layer(
        functools.partial(layers.Encoder, 2, 2, 8, 16, initializer_range=0.2),
        {"x": X, "padding_mask": MASK},
    )


def test_enc2():
    check_layer(
        functools.partial(
            layers.Encoder,
            2,
            2,
            8,
            16,
            initializer_range=0.2,
            hidden_states=True,
            attentions=True,
        ),
        {"x": X, "padding_mask": MASK},
    )
