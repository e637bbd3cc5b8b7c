"""Bidirectional multi-head self-attention."""

import functools
from collections.abc import Iterator
from typing import Any

import keras
from keras import ops

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.attention import fused_attention
from keras_bert_lite.layers.attention.rotary import Rotation, rotate
from keras_bert_lite.layers.base import BlockPart, padding_mask_of
from keras_bert_lite.layers.execution.padded_rows import PaddedRows
from keras_bert_lite.layers.execution.query_blocks import (
    attend_by_blocks,
    attend_in_loop,
)
from keras_bert_lite.layers.split import split_of


@keras.saving.register_keras_serializable(package="keras_bert_lite")
class SelfAttention(BlockPart):
    """Bidirectional multi-head self-attention over the real positions.

    `softmax(Q K^T / sqrt(D)) V` in each of N heads of size D = H / N, where Q, K and V
    are dense projections of the input. A last projection joins the heads. The softmax
    runs in float32.

    Depending on the configuration, Q and K are rotated by their positions (`rotary`),
    biases by distance are added to the scores (`relative_bias`), and only nearby
    positions are attended to (`local_attention`).

    Args:
        config: The encoder's `EncoderConfig`, or its fields in a dictionary. It
            uses `num_heads`, `num_key_value_heads`, `hidden_dim`,
            `attention_dropout`, `biases`, `initializer_range` and the parts named
            above.
        layer: The index of its encoder layer, from 0.

    Call arguments:
        x: Floats of shape `(B, S, H)`.
        padding_mask: Booleans of shape `(B, S)`, true at real positions. Padding is
            not attended to. `None`: the Keras mask of `x`; without one, all positions
            are real.
        sequence_ids: Integers of shape `(B, S)`: positions attend only to
            positions with the same number (a block-diagonal mask, for several
            sequences packed in a row).
        return_weights: Whether to return the attention weights too.
        rows: The layout of the batch, instead of the masks: their `PaddedRows`, or
            `RealTokens` for unpadded execution with `x` of shape `(T, H)`.
        relative_biases: The output of `RelativeBiasTable` for each group of rows, a
            list of `(1, N, S, S)`. Only needed with a `relative_bias`.

    Output shape:
        `(B, S, H)`; with `return_weights`, also the weights, `(B, N, S, S)`:
        for each query position (rows), one weight for each key position.

    Raises:
        ValueError: If `x` has another width or rank, or `relative_biases` are
            missing.

    Attributes:
        in_kernel: Whether rows attend in one kernel, under JAX; see
            `set_fused_attention`. It is no part of the configuration.

    Reference: [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.2.
    """

    in_kernel = False

    def __init__(
        self, config: EncoderConfig | dict[str, Any], layer: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(config, layer, **kwargs)
        width, biases = self.config.hidden_dim, self.config.biases
        shared = self.config.num_key_value_heads or self.config.num_heads
        narrow = width // self.config.num_heads * shared
        self.query = self._dense(width, "query", biases.query)
        self.key = self._dense(narrow, "key", biases.key)
        self.value = self._dense(narrow, "value", biases.value)
        self.output_dense = self._dense(width, "output_dense", biases.attention_output)
        self.dropout = self._dropout(self.config.attention_dropout)

    def build(self, x_shape, padding_mask_shape=None, sequence_ids_shape=None):
        self._check_width(x_shape)
        for dense in (self.query, self.key, self.value, self.output_dense):
            dense.build(x_shape)
        batch, length, _ = x_shape
        self.dropout.build((batch, self.config.num_heads, length, length))

    def call(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        relative_biases=None,
        training=None,
    ):
        rows = rows or self._padded(x, padding_mask, sequence_ids, return_weights)
        if self.in_kernel and not return_weights and self._kernel_takes(rows):
            return self._in_kernel(x, rows, training)
        if fused_attention.fuses() and not return_weights:
            return self._fused(x, rows, relative_biases, training)
        return self._attend(
            x, rows, self._scores, relative_biases, return_weights, training
        )

    def _padded(self, x, padding_mask, sequence_ids, return_weights) -> PaddedRows:
        shape = ops.shape(x)[:2]
        mask = padding_mask_of(x, padding_mask)
        return PaddedRows(self.config, shape, mask, sequence_ids, return_weights)

    def _attend(self, x, rows, scores_of, relative_biases, return_weights, training):
        """Computes attention with the scores `scores_of(queries, keys)`."""
        projected = [
            self._repeated(dense(x)) for dense in (self.query, self.key, self.value)
        ]
        attend = functools.partial(
            self._by_groups, projected, scores_of, relative_biases, training
        )
        if return_weights or self.config.has_relative_scores:
            joined, weights = attend(rows)
            output = self.output_dense(joined)
            return (output, weights) if return_weights else output
        joined = rows.attend(
            self.config.window(self.layer),
            lambda layout, long: attend(layout, long)[0],
            self._drops(training),
        )
        return self.output_dense(joined)

    def _drops(self, training) -> bool:
        return bool(training) and self.dropout.rate > 0

    def _by_groups(
        self, projected, scores_of, relative_biases, training, rows, long=False
    ):
        """Attends in each group of rows; returns also the weights of the last one."""
        queries, keys, values = (rows.split_heads(x) for x in projected)
        queries, keys = (self._turned(heads, rows) for heads in (queries, keys))
        keys, values = (
            [rows.with_neighbours(group) for group in groups]
            for groups in (keys, values)
        )
        biases = self._biases(rows, relative_biases)
        if long:
            attended = self._by_queries(queries, keys, values, biases)
            return rows.join_heads(attended, like=projected[0]), None
        attended, weights = [], None
        scores = scores_of(queries, keys)
        for group, value, added in zip(scores, values, biases, strict=True):
            weights = ops.cast(_softmax(group, added), value.dtype)
            dropped = self.dropout(weights, training=training)
            attended.append(ops.matmul(dropped, value))
        return rows.join_heads(attended, like=projected[0]), weights

    def _by_queries(self, queries, keys, values, biases) -> list[Any]:
        """Attends in blocks of queries, `(b, N, s, D)` for each group of rows."""
        attended = []
        groups = zip(queries, keys, values, biases, strict=True)
        for query, key, value, added in groups:
            if query.shape[2] is None:
                (bias,) = added
                made = attend_in_loop(query * self._scale, key, value, bias)
            else:
                made = attend_by_blocks(self._values, query, key, value, added, axis=2)
            attended.append(made)
        return attended

    def _values(self, query, key, value, biases):
        """Returns the weighted values, `(B, N, S, D)`, without dropout."""
        (scores,) = self._scores([query], [key])
        return ops.matmul(ops.cast(_softmax(scores, biases), value.dtype), value)

    def _kernel_takes(self, rows) -> bool:
        from keras_bert_lite.layers.attention.kernel import attention

        layers = (self.query, self.key, self.value)
        plain = all(dense.quantization_mode is None for dense in layers)
        return plain and attention.takes(rows.lengths[0])

    def _in_kernel(self, x, rows, training):
        """Computes attention on Q, K and V as one array, `(3, B, S, H)`."""
        from keras_bert_lite.layers.attention.kernel import attention

        layers = (self.query, self.key, self.value)
        kernels = [self._repeated(dense.kernel) for dense in layers]
        heads = fused_attention.project_together(x, *kernels)
        biases = ops.stack(
            [
                ops.zeros(heads.shape[-1], heads.dtype)
                if dense.bias is None
                else ops.cast(self._repeated(dense.bias), heads.dtype)
                for dense in layers
            ]
        )
        num_heads, drops = self.config.num_heads, self._drops(training)
        kernel = next(x for x in self.query.weights if x.name == "kernel")
        attended = attention.attend(
            heads,
            biases,
            num_heads,
            rows.mask,
            rows.sequence_ids,
            self.dropout.rate if drops else 0.0,
            self.dropout.seed_generator.next() if drops else None,
            split_of(kernel, x.shape[0], num_heads),
        )
        return self.output_dense(attended)

    def _fused(self, x, rows, relative_biases, training):
        """Computes attention on `(B, S, N, D)`, so that no axis is moved."""
        query, key, value = self._heads(x)
        base = self.config.rotary_base(self.layer)
        if base is not None:
            (rotation,) = rows.rotations[base]
            rotation = Rotation(*(part[:, None] for part in rotation))
            query, key = rotate(query, rotation), rotate(key, rotation)
        heads = (query, key, value)
        drops = self._drops(training)
        attend = functools.partial(self._fused_heads, heads, relative_biases, drops)
        attended = rows.attend(self.config.window(self.layer), attend, drops)
        if self.output_dense.quantization_mode is not None:
            return self.output_dense(fused_attention.joined(attended))
        output = fused_attention.project_joined(attended, self.output_dense.kernel)
        bias = self.output_dense.bias
        return output if bias is None else output + bias

    def _fused_heads(self, heads, relative_biases, drops, rows, long):
        """Attends with `(B, S, N, D)`, in blocks of these if `rows` are blocks."""
        (biases,) = self._biases(rows, relative_biases)
        query, key, value = (rows.cut(x) for x in heads)
        key, value = (rows.with_neighbours(x, axis=1) for x in (key, value))
        if long:
            attend = functools.partial(fused_attention.attend, scale=self._scale)
            return attend_by_blocks(attend, query, key, value, biases, axis=1)
        kept = None
        if drops:
            batch, length, num_heads, _ = ops.shape(query)
            kept = self.dropout.kept((batch, num_heads, length, ops.shape(key)[1]))
        attended = fused_attention.attend(
            query, key, value, biases, self._scale, kept, self.dropout.kept_share
        )
        return rows.join(attended)

    def _heads(self, x) -> list[Any]:
        """Projects to Q, K and V, `(B, S, N, D)` each."""
        sizes = (self.config.num_heads, -1)
        layers = (self.query, self.key, self.value)
        if any(dense.quantization_mode is not None for dense in layers):
            shape = (*ops.shape(x)[:2], *sizes)
            return [ops.reshape(self._repeated(dense(x)), shape) for dense in layers]
        kernels = [self._repeated(dense.kernel) for dense in layers]
        heads = fused_attention.project(x, kernels, self.config.num_heads)
        return [
            y
            if dense.bias is None
            else y + ops.reshape(self._repeated(dense.bias), sizes)
            for y, dense in zip(heads, layers, strict=True)
        ]

    def _repeated(self, x):
        """Repeats shared heads of keys or values for each head of queries: (..., H)."""
        width, num_heads = self.config.hidden_dim, self.config.num_heads
        if x.shape[-1] == width:
            return x
        size, others = width // num_heads, ops.shape(x)[:-1]
        shared = x.shape[-1] // size
        heads = ops.reshape(x, (*others, shared, size))
        heads = ops.repeat(heads, num_heads // shared, axis=-2)
        return ops.reshape(heads, (*others, width))

    def _turned(self, heads: list[Any], rows) -> list[Any]:
        """Applies rotary positions to queries or keys, if the layer has them."""
        base = self.config.rotary_base(self.layer)
        if base is None:
            return heads
        pairs = zip(heads, rows.rotations[base], strict=True)
        return [rotate(group, rotation) for group, rotation in pairs]

    def _biases(self, rows, relative_biases) -> list[list[Any]]:
        """Returns the float32 terms to add to the scores of each group of rows."""
        masks = rows.biases[self.config.window(self.layer)]
        biases = [[] if mask is None else [mask] for mask in masks]
        if self.config.relative_bias is None:
            return biases
        if relative_biases is None:
            raise ValueError("`relative_biases` must be given. Received: None")
        pairs = zip(biases, relative_biases, strict=True)
        return [[ops.cast(bias, "float32"), *others] for others, bias in pairs]

    def _scores(self, queries, keys) -> Iterator[Any]:
        """Yields the scaled scores of each group of rows, float32 (B, N, S, S)."""
        for query, key in zip(queries, keys, strict=True):
            scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
            yield ops.cast(scores, "float32") * self._scale

    @property
    def _scale(self) -> float:
        return (self.config.hidden_dim // self.config.num_heads) ** -0.5

    def compute_output_spec(
        self,
        x,
        padding_mask=None,
        sequence_ids=None,
        return_weights=False,
        rows=None,
        relative_biases=None,
        training=None,
    ):
        output = keras.KerasTensor(x.shape, dtype=self.compute_dtype)
        if not return_weights:
            return output
        batch, length, _ = x.shape
        shape = (batch, self.config.num_heads, length, length)
        return output, keras.KerasTensor(shape, dtype=self.compute_dtype)

    def compute_output_shape(
        self, x_shape, padding_mask_shape=None, sequence_ids_shape=None
    ):
        return x_shape


def _softmax(scores, biases: list[Any]):
    for bias in biases:
        scores = scores + bias
    return ops.softmax(scores, axis=-1)
