"""A model whose encoder multiplies in bfloat16 while it is traced."""

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import keras
import tensorflow as tf

from keras_bert_lite._private import sublayers
from keras_bert_lite.models.encoder_model import (
    check_plain_weights,
    encoder_layers,
    encoder_of,
)
from keras_bert_lite.models.text_model import TextModel, model_on_ids
from keras_bert_lite.serving.saved_model.dense_calls import on_rows, replaced_calls


class EncoderInBfloat16:
    """What the encoder of a model needs to multiply in bfloat16.

    Its dense layers do; sums, attention, normalization and activations stay in float32.

    Args:
        model: See `export_saved_model`.

    Raises:
        ValueError: If a layer is quantized or has LoRA weights.
    """

    def __init__(self, model: TextModel) -> None:
        body = model_on_ids(model)
        check_plain_weights(body)
        self._model = model
        _, encoder, _ = encoder_layers(encoder_of(body))
        self._layers = [x for x in sublayers(encoder) if type(x) is keras.layers.Dense]
        _warn_if_slow()

    @contextlib.contextmanager
    def traced(self) -> Iterator[tuple[list[tf.Variable], list[Any]]]:
        """Lets the encoder multiply in bfloat16; yields as `EncoderInInt8` does."""
        kernels = [
            tf.Variable(tf.cast(x.kernel.value, tf.bfloat16), trainable=False)
            for x in self._layers
        ]
        replaced = {id(x.kernel) for x in self._layers}
        kept = [x.value for x in self._model.variables if id(x) not in replaced]
        pairs = zip(self._layers, kernels, strict=True)
        with replaced_calls({x: _call(x, kernel) for x, kernel in pairs}):
            yield kept, kernels


def _call(layer: keras.layers.Dense, kernel: tf.Variable) -> Callable:
    def product(rows: tf.Tensor) -> tf.Tensor:
        # Cast before the bias is added: on AMX, the product fused with it is slow.
        return tf.cast(tf.matmul(tf.cast(rows, tf.bfloat16), kernel), tf.float32)

    def call(x: tf.Tensor, training: Any = None) -> tf.Tensor:
        found = on_rows(product, x, layer.units)
        if layer.bias is not None:
            found += layer.bias
        return found if layer.activation is None else layer.activation(found)

    return call


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
