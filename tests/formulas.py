"""The arithmetic of BERT in plain numpy, as the papers write it."""

import math

import numpy as np

from tests.conformance import to_numpy


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def dense(layer, x):
    return x @ to_numpy(layer.kernel) + to_numpy(layer.bias)


def layer_norm(layer, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + layer.epsilon)
    return centred / deviation * to_numpy(layer.gamma) + to_numpy(layer.beta)


def attention(layer, x, allowed):
    """The output and the weights; `allowed` is `(B, S, S)`, queries by keys."""
    size = layer.hidden_dim // layer.num_heads
    outputs, weights = [], []
    for head in range(layer.num_heads):
        part = slice(head * size, (head + 1) * size)
        query, key, value = (
            dense(projection, x)[..., part]
            for projection in (layer.query, layer.key, layer.value)
        )
        scores = query @ key.swapaxes(1, 2) / math.sqrt(size)
        weights.append(softmax(np.where(allowed, scores, -np.inf)))
        outputs.append(weights[-1] @ value)
    joined = np.concatenate(outputs, axis=-1)
    return dense(layer.output_dense, joined), np.stack(weights, axis=1)


def block(layer, x, allowed):
    attended, _ = attention(layer.attention, x, allowed)
    x = layer_norm(layer.attention_norm, x + attended)
    inner = ACTIVATIONS[layer.activation](dense(layer.intermediate_dense, x))
    return layer_norm(layer.output_norm, x + dense(layer.output_dense, inner))
