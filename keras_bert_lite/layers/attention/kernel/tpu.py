"""The kernel: attention of whole rows in a TPU's fast memory."""

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from keras_bert_lite.layers.attention.kernel import masks

LANES = 128  # of a vector register
TOKENS = 512  # of a cell of the grid, if a row has no more
QUERIES = 256  # whose scores are held at once
MASKED = -1e30


def forward(options, heads, words, query_ids, key_ids, interpret: bool = False):
    """Returns the attended values, `(B, S, N D)`; see `attention.attend`."""
    return _call(
        _forward_cell, options, heads, words, query_ids, key_ids, interpret=interpret
    )[0]


def backward(
    options, heads, words, query_ids, key_ids, output, upstream, interpret: bool = False
):
    """Returns the gradients of queries, keys and values, in their dtype.

    The weights and their masks are computed again.
    """
    others = (output, upstream)
    return tuple(
        _call(
            _backward_cell,
            options,
            heads,
            words,
            query_ids,
            key_ids,
            *others,
            outputs=3,
            interpret=interpret,
        )
    )


def _call(
    cell,
    options,
    heads,
    words,
    query_ids,
    key_ids,
    *others,
    outputs: int = 1,
    interpret: bool = False,
):
    """Runs a cell of the grid for each group of rows and each group of heads.

    A group of heads are the heads of 128 lanes. Arrays `(B, S, N D)` are cut, so
    that no axis is moved; the words lie whole in scalar memory.
    """
    batch, length, width = heads[0].shape
    rows, lanes = _rows(batch, length), _lanes(width, options.size)
    block = pl.BlockSpec((rows, length, lanes), lambda i, j: (i, 0, j))
    ids = [
        pl.BlockSpec((rows, *x.shape[1:]), lambda i, j: (i, 0, 0))
        for x in (query_ids, key_ids)
    ]
    array = jax.ShapeDtypeStruct(heads[0].shape, heads[0].dtype)
    return pl.pallas_call(
        functools.partial(cell, options),
        grid=(batch // rows, width // lanes),
        in_specs=[
            pl.BlockSpec(memory_space=pltpu.SMEM),
            *ids,
            *[block] * (len(heads) + len(others)),
        ],
        out_specs=[block] * outputs,
        out_shape=[array] * outputs,
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel")
        ),
        interpret=interpret,
    )(jnp.ravel(words), query_ids, key_ids, *heads, *others)


def _rows(batch: int, length: int) -> int:
    """Returns how many rows a cell has: so many that its start costs little."""
    most = max(TOKENS // length, 1)
    return max(x for x in range(1, most + 1) if batch % x == 0)


def _lanes(width: int, size: int) -> int:
    """Returns the width of a cell: whole registers with whole heads, or everything."""
    lanes = max(LANES, size)
    return lanes if width % lanes == 0 and lanes % size == 0 else width


def _forward_cell(options, words, query_ids, key_ids, queries, *others):
    *keys_and_values, output = others
    heads = (queries, *keys_and_values)
    cell = _Cell(options, words, query_ids, key_ids, heads)
    for row in range(queries.shape[0]):
        keys, values = cell.by_head(1, row), cell.by_head(2, row)
        for part in cell.parts():
            query = queries[row, part]
            attended: Any = 0.0
            for head, (key, value) in enumerate(zip(keys, values, strict=True)):
                weights, sums = cell.softmax(query, key, row, part)
                if options.dropped:
                    weights = jnp.where(cell.kept(row, head, part), weights, 0.0)
                product = _product(weights.astype(query.dtype), value, (1, 0))
                attended += product / (sums * options.share)
            output[row, part] = attended.astype(output.dtype)


def _backward_cell(options, words, query_ids, key_ids, queries, *others):
    keys_and_values, (output, upstream), gradients = others[:2], others[2:4], others[4:]
    heads = (queries, *keys_and_values)
    cell, scale = _Cell(options, words, query_ids, key_ids, heads), options.scale
    for row in range(queries.shape[0]):
        keys, values = cell.by_head(1, row), cell.by_head(2, row)
        to_keys: list[Any] = [0.0] * len(keys)
        to_values: list[Any] = [0.0] * len(keys)
        for part in cell.parts():
            query, above = queries[row, part], upstream[row, part]
            to_query: Any = 0.0
            along = above.astype(jnp.float32) * output[row, part].astype(jnp.float32)
            for head, (key, value) in enumerate(zip(keys, values, strict=True)):
                weights, sums = cell.softmax(query, key, row, part)
                weights = weights * (1 / sums)
                to_weights, dropped = _product(above, value, (1, 1)), weights
                if options.dropped:
                    kept = cell.kept(row, head, part)
                    factor = jnp.where(kept, 1 / options.share, 0.0)
                    to_weights, dropped = to_weights * factor, weights * factor
                to_values[head] += _product(dropped.astype(query.dtype), above, (0, 0))
                own = cell.only(head, along).sum(-1, keepdims=True)
                to_scores = (weights * (to_weights - own)).astype(query.dtype)
                to_query += _product(to_scores, key, (1, 0))
                to_keys[head] += _product(to_scores, query, (0, 0))
            gradients[0][row, part] = (to_query * scale).astype(query.dtype)
        for which, x in (1, cell.joined(to_keys) * scale), (2, cell.joined(to_values)):
            gradients[which][row] = x.astype(queries.dtype)


@dataclasses.dataclass(frozen=True)
class _Cell:
    """Some rows and heads in fast memory, `(rows, S, lanes)` three times.

    Heads lie side by side. The product of two arrays, in one of which the lanes of
    other heads are zero, is that of a head: no lane is moved, and the units multiply
    128 lanes at once in any case.
    """

    options: Any
    words: Any
    query_ids: Any
    key_ids: Any
    heads: Any

    def parts(self) -> Iterator[Any]:
        """Yields the queries whose scores are held at once."""
        length = self.heads[0].shape[1]
        for first in range(0, length, QUERIES):
            yield slice(first, min(first + QUERIES, length))

    def by_head(self, which: int, row: int) -> list[Any]:
        """Returns keys or values, for each head with zeros in the others' lanes."""
        x = self.heads[which][row]
        return [self.only(head, x) for head in range(x.shape[-1] // self.options.size)]

    def only(self, head: int, x):
        lane = lax.broadcasted_iota(jnp.int32, (1, x.shape[-1]), 1)
        first = head * self.options.size
        own = (lane >= first) & (lane < first + self.options.size)
        return jnp.where(own, x, jnp.zeros_like(x))

    def joined(self, by_head: list[Any]):
        return sum(self.only(head, x) for head, x in enumerate(by_head))

    def softmax(self, query, key, row: int, part: slice):
        """Returns exponentials of the scores and their sums, float32."""
        queries = slice(None) if self.query_ids.shape[1] == 1 else part
        seen = self.key_ids[row] == self.query_ids[row, queries]
        # Powers of 2, so that their factor is that of the scores.
        factor = self.options.scale * math.log2(math.e)
        scores = _product(query, key, (1, 1)) * factor
        scores = jnp.where(seen, scores, MASKED)
        weights = jnp.exp2(scores - scores.max(-1, keepdims=True))
        return weights, weights.sum(-1, keepdims=True)

    def kept(self, row: int, head: int, part: slice):
        """Returns the dropout mask of some queries, `(queries, S)`."""
        rows, length, lanes = self.heads[0].shape
        of_cell = lanes // self.options.size
        number = (pl.program_id(0) * rows + row) * pl.num_programs(1) * of_cell
        number += pl.program_id(1) * of_cell + head
        words = self.words[2 * number], self.words[2 * number + 1]
        count = part.stop - part.start
        return masks.kept(words, self.options.dropped, part.start, count, length)


def _product(x, y, axes: tuple[int, int]):
    """Multiplies in float32 over an axis of `x` and one of `y`."""
    contracted = (((axes[0],), (axes[1],)), ((), ()))
    return lax.dot_general(x, y, contracted, preferred_element_type=jnp.float32)
