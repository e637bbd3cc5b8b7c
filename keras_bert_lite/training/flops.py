"""How much arithmetic a training step is, and how much a device can do."""

import math

import keras

from keras_bert_lite._private import sublayers
from keras_bert_lite.layers import (
    DenseHead,
    DisentangledAttention,
    Embeddings,
    Encoder,
    EncoderBlock,
    MaskedLMTransform,
    Pooler,
    ReplacedTokenHead,
    SelfAttention,
    Teacher,
)

# TFLOP/s of a device in bfloat16 (V100 and T4: float16), without sparsity, by the
# beginning of its name in JAX or TensorFlow. Sources: the pages of Cloud TPU's versions
# (https://cloud.google.com/tpu/docs/system-architecture-tpu-vm), NVIDIA's data sheets.
# Up to v3 a device is a core, half a chip.
PEAKS = {
    "TPU v2": 22.5,
    "TPU v3": 61.5,
    "TPU v4": 275.0,
    "TPU v5 lite": 197.0,
    "TPU v5": 459.0,
    "TPU v6 lite": 918.0,
    "NVIDIA A100": 312.0,
    "NVIDIA H100 PCIe": 756.0,
    "NVIDIA H100": 989.0,
    "NVIDIA H200": 989.0,
    "NVIDIA L4": 121.0,
    "Tesla T4": 65.0,
    "Tesla V100": 125.0,
}


def peak_tflops(device: str) -> float | None:
    """Returns the TFLOP/s of a device by its name; `None` if it is not known."""
    names = [x for x in PEAKS if device.startswith(x)]
    return PEAKS[max(names, key=len)] if names else None


def training_flops(model: keras.Model, tokens: float, predictions: float) -> float:
    """Returns the FLOP of training on one row: three times its forward products.

    A multiplication and its addition are two FLOP. Only products of matrices count,
    each once, also where activations are recomputed. A `layers.Teacher` has no
    backward pass.

    Args:
        model: A pretraining model.
        tokens: The tokens of the row (S); padding does not count.
        predictions: The positions at which words are scored (P).
    """
    teachers = [x.model for x in sublayers(model) if isinstance(x, Teacher)]
    forward = {id(x) for teacher in teachers for x in sublayers(teacher)}
    sizes = (tokens, predictions, _vocabulary_size(model))
    return sum(
        2 * (1 if id(layer) in forward else 3) * _products(layer, *sizes)
        for layer in sublayers(model)
    )


def encoder_products(encoder: Encoder, tokens: float) -> float:
    """Returns the multiplications of an encoder on one row of `tokens` (S)."""
    total = sum(_block_products(x, tokens) for x in encoder.blocks_in_order())
    for layer in (encoder.projection, encoder.convolution):
        total += 0 if layer is None else tokens * _kernels(layer)
    return total


def _block_products(block: EncoderBlock, tokens: float) -> float:
    attention = block.attention
    width = attention.num_heads * attention.head_dim
    denses = (getattr(attention, name) for name in SelfAttention.LAYERS)
    products = tokens * (sum(map(_kernels, denses)) + _kernels(block.feed_forward))
    attended = tokens
    if attention.window is not None:
        attended = min(tokens, attention.window + 1)
    products += 2 * tokens * attended * width
    if isinstance(attention, DisentangledAttention):
        # Each term compares with the vectors of the distances that occur, which are
        # projected once a batch: that is left out.
        distances = 2 * min(attention.span, tokens)
        products += len(attention.terms) * tokens * distances * width
    return products


def _products(
    layer: keras.layers.Layer, tokens: float, predictions: float, vocabulary: int
) -> float:
    """Returns the multiplications of a layer, without those of layers inside it."""
    if isinstance(layer, Encoder):
        return encoder_products(layer, tokens)
    if isinstance(layer, Embeddings):
        return 0 if layer.projection is None else tokens * _kernels(layer.projection)
    if isinstance(layer, MaskedLMTransform):
        return predictions * (_kernels(layer) + layer.embedding_dim * vocabulary)
    if isinstance(layer, ReplacedTokenHead):
        return tokens * _kernels(layer)
    if isinstance(layer, DenseHead | Pooler):  # once a row
        return _kernels(layer)
    return 0


def _vocabulary_size(model: keras.Model) -> int:
    tables = (x for x in sublayers(model) if isinstance(x, Embeddings))
    return next(tables).vocabulary_size


def _kernels(layer: keras.layers.Layer) -> int:
    return sum(math.prod(x.shape) for x in layer.weights if len(x.shape) > 1)
