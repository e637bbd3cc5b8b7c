"""Attention in one kernel, for TPUs."""

import keras

from keras_bert_lite.layers.attention.self_attention import SelfAttention
from keras_bert_lite.models.encoder_model import recompile
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

    The choice belongs to a run: no `.keras` file, checkpoint or clone has it.

    Args:
        model: An encoder or a model built on one.
        choice: Whether to use it.

    Raises:
        TypeError: If `choice` is not a boolean.
        NotImplementedError: If the backend is not JAX.
        ValueError: If the model has no encoder, or one with rotary or relative
            positions or local attention.
    """
    found = layers_to_set(
        model,
        choice,
        SelfAttention,
        ", for which the kernel is written",
        "an encoder",
    )
    if choice:
        _check(found[0])
    for layer in found:
        layer.in_kernel = choice
    recompile(model)


def _check(layer: SelfAttention) -> None:
    """Raises an error if the scores have parts that the kernel does not know."""
    names = ("rotary", "relative_bias", "relative_positions", "local_attention")
    for name in names:
        value = getattr(layer.config, name)
        if value is not None:
            raise ValueError(
                "`model` must have an encoder without rotary or relative positions "
                f"and local attention. Received: {name}={value!r}"
            )
