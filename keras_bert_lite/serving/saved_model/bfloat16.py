"""A model whose encoder multiplies in bfloat16."""

from __future__ import annotations

import time
import warnings
from statistics import median
from typing import Any

import keras

from keras_bert_lite import layers
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.layers.base import EncoderPart
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    encoder_layers,
    encoder_of,
)
from keras_bert_lite.serving.saved_model.other_encoder import (
    check_blocks,
    on_rows,
    with_blocks,
    with_encoder,
    with_layers,
    with_parts,
)
from keras_bert_lite.tasks.text_model import TextModel, model_on_ids


class Bfloat16Dense(keras.layers.Layer):
    """A dense layer whose product is that of numbers in bfloat16.

    Args:
        dense: A dense layer that is built, whose bias and activation it uses.

    Call arguments:
        x: Floats of shape `(..., K)`, float32.

    Output shape:
        `(..., N)`, float32.

    Attributes:
        kernel: The matrix in bfloat16.
    """

    def __init__(self, dense: keras.layers.Dense) -> None:
        super().__init__(name=dense.name)
        self.units = dense.units
        self.kernel = tf.Variable(
            tf.cast(dense.kernel.value, tf.bfloat16), trainable=False
        )
        self.bias = dense.bias
        self.activation = dense.activation
        self.built = True

    def call(self, x: tf.Tensor) -> tf.Tensor:
        def product(rows: tf.Tensor) -> tf.Tensor:
            # Cast before the bias is added: on AMX, the product fused with it is slow.
            made = tf.matmul(tf.cast(rows, tf.bfloat16), self.kernel)
            return tf.cast(made, tf.float32)

        y = on_rows(product, x, self.units)
        if self.bias is not None:
            y += self.bias
        return y if self.activation is None else self.activation(y)


def in_bfloat16(model: TextModel) -> tuple[TextModel, list[tf.Variable]]:
    """Returns a model whose encoder multiplies in bfloat16, and its matrices.

    Its dense layers do; sums, attention, normalization and activations stay in float32.

    Args:
        model: See `export_saved_model`.

    Raises:
        ValueError: If a layer is quantized or has LoRA weights.
    """
    body = model_on_ids(model)
    check_plain_weights(body)
    _warn_if_slow()
    _, encoder, _ = encoder_layers(encoder_of(body))
    check_blocks(encoder.blocks, "compute")
    kernels: list[tf.Variable] = []

    def rounded(dense: Any) -> Bfloat16Dense:
        made = Bfloat16Dense(dense)
        kernels.append(made.kernel)
        return made

    def other(part: Any) -> Any:
        return with_layers(part, rounded) if isinstance(part, EncoderPart) else part

    blocks = [
        with_parts(x, other(x.attention), other(x.feed_forward)) for x in encoder.blocks
    ]
    projection = encoder.projection and rounded(encoder.projection)
    new: layers.Encoder = with_blocks(encoder, blocks, projection=projection)
    return with_encoder(model, encoder, new), kernels


def _warn_if_slow() -> None:
    taken = {x: _seconds(x) for x in (tf.float32, tf.bfloat16)}
    if taken[tf.bfloat16] > taken[tf.float32]:
        warnings.warn(
            "`compute='bfloat16'` is for servers whose processors multiply in bfloat16 "
            "(AVX512-BF16, AMX). This machine takes "
            f"{taken[tf.bfloat16] / taken[tf.float32]:.1f} times as long as in float32",
            stacklevel=4,
        )


def _seconds(dtype: tf.DType) -> float:
    """Returns how long a product takes here."""
    x, kernel = tf.ones([256, 768], dtype), tf.ones([768, 768], dtype)
    seconds = []
    for _ in range(7):
        began = time.perf_counter()
        tf.matmul(x, kernel).numpy()
        seconds.append(time.perf_counter() - began)
    return median(seconds[2:])  # the first prepare
