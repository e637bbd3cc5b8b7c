"""How much arithmetic a training step is, and how much a device can do."""

import math

import keras

from keras_bert_lite._private import sublayers
from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers import (
    DenseHead,
    Embeddings,
    Encoder,
    MaskedLMTransform,
    Pooler,
    ReplacedTokenHead,
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


def encoder_products(config: EncoderConfig, tokens: float) -> float:
    """Returns the multiplications of an encoder's blocks on one row of `tokens` (S)."""
    width, inner = config.hidden_dim, config.intermediate_dim
    shared = (config.num_key_value_heads or config.num_heads) / config.num_heads
    dense = 2 * (1 + shared) * width**2 + (3 if config.gated else 2) * width * inner
    total = config.num_layers * tokens * dense
    for layer in range(config.num_layers):
        total += 2 * tokens * _attended(config, layer, tokens) * width
    if relative := config.relative_positions:
        # Each term compares with the vectors of the distances that occur, which are
        # projected once a batch: that is left out.
        distances = 2 * min(relative.span, tokens)
        terms = len(relative.terms)
        total += config.num_layers * terms * tokens * distances * width
    if size := config.convolution_size:
        total += tokens * size * width**2 / config.convolution_groups
    return total


def _attended(config: EncoderConfig, layer: int, tokens: float) -> float:
    """Returns how many tokens each one attends to."""
    window = config.window(layer)
    return tokens if window is None else min(tokens, window + 1)


def _products(
    layer: keras.layers.Layer, tokens: float, predictions: float, vocabulary: int
) -> float:
    """Returns the multiplications of a layer, without those of layers inside it."""
    if isinstance(layer, Encoder):
        return encoder_products(layer.config, tokens)
    if isinstance(layer, Embeddings):
        projected = layer.projection is not None
        return tokens * layer.width * layer.config.hidden_dim if projected else 0
    if isinstance(layer, MaskedLMTransform):
        return predictions * (_kernels(layer) + layer.embedding_dim * vocabulary)
    if isinstance(layer, ReplacedTokenHead):
        return tokens * _kernels(layer)
    if isinstance(layer, DenseHead | Pooler):  # once a row
        return _kernels(layer)
    return 0


def _vocabulary_size(model: keras.Model) -> int:
    tables = (x for x in sublayers(model) if isinstance(x, Embeddings))
    return next(tables).config.vocabulary_size


def _kernels(layer: keras.layers.Layer) -> int:
    return sum(math.prod(x.shape) for x in layer.weights if len(x.shape) == 2)
