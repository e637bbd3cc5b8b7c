"""Attention in one kernel, for TPUs."""

import keras

from keras_bert_lite.layers.attention.self_attention import SelfAttention
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.training.jax_choices import layers_to_set


def set_fused_attention(model: keras.Model, choice: bool = True) -> None:
    """Turns the attention kernel on or off, for TPUs under JAX.

    By default a compiled step writes the attention weights and their dropout masks to
    memory. The kernel, for which steps were compiled but not run, holds them in the
    chip's fast memory, and computes them again for the gradients. What it computes is
    the same but for rounding and dropout:

    - masks are drawn in the kernel, by a hash of the element's place and two random
      words for each row and head. They are the same on all devices, however rows and
      heads are split (data parallel, and a model axis that splits whole heads), and
      differ from those of the default;
    - rates are rounded to a multiple of 1 / 65536.

    By estimates (`benchmarks/tpu`) a step of BERT-base on a v5e takes a fifth less time
    at 32 rows of 512 tokens, 6 % less at 32 rows of 128.

    Rows attend in the kernel if their length is a multiple of 128 up to 1,024 and the
    layer is not quantized; others, and those whose weights are asked for, attend as by
    default. Devices that are no TPUs compute the same, masks included, in plain
    operations, which are slower than the default.

    The choice is the `implementation` of the model's `SelfAttention` layers, which
    `.keras` files and clones keep.

    Args:
        model: An encoder or a model built on one.
        choice: Whether to use it.

    Raises:
        TypeError: If `choice` is not a boolean.
        NotImplementedError: If the backend is not JAX.
        ValueError: If the model has no encoder, or one with relative positions or
            local attention.
    """
    found = layers_to_set(
        model,
        choice,
        SelfAttention,
        ", for which the kernel is written",
        "an encoder",
    )
    if choice:
        _check(model)
    for layer in found:
        layer.implementation = "kernel" if choice else "auto"


def _check(model: keras.Model) -> None:
    """Raises an error if the scores have parts that the kernel does not know."""
    config = config_of(encoder_of(model))
    for name in ("relative_bias", "relative_positions", "local_attention"):
        value = getattr(config, name)
        if value is not None:
            raise ValueError(
                "`model` must have an encoder without relative positions and local "
                f"attention. Received: {name}={value!r}"
            )
