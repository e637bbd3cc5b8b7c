"""The arithmetic of BERT and its relatives in plain numpy, as the papers write it."""

import math

import keras
import numpy as np

from keras_bert_lite.layers.attention.relative_positions import table_rows
from tests.conformance import to_numpy

ZEROS = np.zeros((1, 1, 1))


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
    bias = 0 if layer.bias is None else to_numpy(layer.bias)
    return x @ to_numpy(layer.kernel) + bias


def layer_norm(layer, x):
    """`x` itself where there is no normalization."""
    if layer is None:
        return x
    if isinstance(layer, keras.layers.RMSNormalization):
        size = np.sqrt((x**2).mean(axis=-1, keepdims=True) + layer.epsilon)
        return x / size * to_numpy(layer.scale)
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + layer.epsilon)
    bias = to_numpy(layer.beta) if layer.center else 0
    return centred / deviation * to_numpy(layer.gamma) + bias


def heads(layer, x):
    """(..., H) -> (N, ..., D); shared heads stand there once for each query's."""
    size = layer.query.kernel.shape[-1] // layer.num_heads
    found = np.moveaxis(np.reshape(x, (*x.shape[:-1], -1, size)), -2, 0)
    return np.repeat(found, layer.num_heads // len(found), axis=0)


def rotated(x, rotary):
    """Each pair of numbers of `(..., S, D)` as a complex one, turned."""
    half = x.shape[-1] // 2
    speeds = np.array([rotary.base ** (-2 * k / x.shape[-1]) for k in range(half)])
    speeds = np.where(np.arange(half) < rotary.share * half, speeds / rotary.scale, 0)
    turns = np.exp(1j * np.arange(x.shape[-2])[:, None] * speeds)
    pairs = (x[..., :half] + 1j * x[..., half:]) * turns
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def bias_bucket(distance, part):
    """The row that a distance `i - j` has in a `RelativeBias`' table."""
    half, exact = part.num_buckets // 2, part.num_buckets // 4
    first, distance = (0, distance) if distance >= 0 else (half, -distance)
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(part.max_distance / exact)
    return first + min(half - 1, exact + int(share * exact + 1e-6))


def relative_biases(table, length):
    """The biases that a `RelativeBiasTable` adds: (N, S, S)."""
    numbers = to_numpy(table.embedding.embeddings)
    biases = np.zeros((table.num_heads, length, length))
    for i, j in np.ndindex(length, length):
        biases[:, i, j] = numbers[bias_bucket(i - j, table)]
    return biases


def relative_scores(layer, query, key, table):
    """What DeBERTa adds to the scores, one pair of positions at a time."""
    scores = np.zeros((*query.shape[:-1], query.shape[-2]))
    for i, j in np.ndindex(scores.shape[2:]):
        row = table[table_rows(np.array(i - j), layer.max_distance, layer.buckets)]
        if "c2p" in layer.terms:
            pk = heads(layer, dense(layer.position_key or layer.key, row))
            scores[:, :, i, j] += np.einsum("nbd,nd->nb", query[:, :, i], pk)
        if "p2c" in layer.terms:
            pq = heads(layer, dense(layer.position_query or layer.query, row))
            scores[:, :, i, j] += np.einsum("nbd,nd->nb", key[:, :, j], pq)
    return scores


def attention(layer, x, allowed, table=None, biases=ZEROS):
    """The output and the weights.

    `allowed` is `(B, S, S)`, queries by keys; `table` the relative embeddings,
    `biases`, `(N, S, S)`, those of relative positions.
    """
    terms = getattr(layer, "terms", ())
    projections = (layer.query, layer.key, layer.value)
    query, key, value = (heads(layer, dense(y, x)) for y in projections)  # NBSD
    if layer.rotary is not None:
        query, key = (rotated(x, layer.rotary) for x in (query, key))
    scores = query @ key.swapaxes(2, 3)
    if terms:
        scores = scores + relative_scores(layer, query, key, table)
    scores = scores / math.sqrt(query.shape[-1] * (1 + len(terms)))
    scores = scores + np.expand_dims(biases, 1)
    window = layer.window
    if window is not None:
        places = np.arange(x.shape[1])
        allowed = allowed & (abs(places[:, None] - places) <= window // 2)
    weights = softmax(np.where(allowed, scores, -1e30))
    joined = np.moveaxis(weights @ value, 0, 2).reshape(x.shape)
    return dense(layer.output_dense, joined), weights.swapaxes(0, 1)


def feed_forward(layer, x):
    inner = ACTIVATIONS[layer.activation](dense(layer.intermediate_dense, x))
    if layer.gate_dense is not None:
        inner = inner * dense(layer.gate_dense, x)
    return dense(layer.output_dense, inner)


def block(block, x, allowed, table=None, biases=ZEROS):
    y = layer_norm(block.attention_input_norm, x)
    y, _ = attention(block.attention, y, allowed, table, biases)
    x = layer_norm(block.attention_norm, x + y)
    y = feed_forward(block.feed_forward, layer_norm(block.feed_forward_input_norm, x))
    return layer_norm(block.output_norm, x + y)


def encoder(stack, x, allowed):
    """The output of all blocks, each run once."""
    table, biases = None, ZEROS
    if stack.relative_table is not None:
        rows = to_numpy(stack.relative_table.embedding.embeddings)
        table = layer_norm(stack.relative_table.layer_norm, rows)
    if stack.relative_bias is not None:
        biases = relative_biases(stack.relative_bias, x.shape[1])
    for one in stack.blocks:
        x = block(one, x, allowed, table, biases)
    return layer_norm(stack.final_norm, x)
