"""The layout without padding: only the real tokens of a batch."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert_lite.layers.execution import query_blocks
from keras_bert_lite.layers.execution.engines import traced_for_engine
from keras_bert_lite.layers.execution.local_blocks import LocalBlocks, blocks_pay
from keras_bert_lite.layers.execution.padded_rows import (
    NEEDS_WHOLE_ROWS,
    biases_by_window,
)
from keras_bert_lite.layers.execution.reads import Reads, rotations_of, windows_of

# How many times the rows, sorted by length, are split in two for attention.
CUTS = 1
# The smallest step from one number of rows to the next; see `RealTokens.in_steps`.
STEP = 8


class Group(NamedTuple):
    """Rows of similar length that attend together: b rows of length s."""

    token_of_position: tf.Tensor  # (b, s) int32
    row_of_token: tf.Tensor  # (tokens of the group,) int32
    column_of_token: tf.Tensor  # (tokens of the group,) int32
    real: tf.Tensor  # (b, s) booleans, false at padding


class Heads(NamedTuple):
    """Where the heads of a group are: among those of all tokens, and in its rows."""

    token_of_position: tf.Tensor  # (b, N, s) int32, into heads of tokens (T * N, D)
    position_of_token: tf.Tensor  # (tokens of the group, N) int32, the inverse


class RealTokens:
    """The T real tokens of a padded batch `(B, S)`, those of short rows first.

    Between `without_padding` and `with_padding`, layers get `(T, H)`, so position-wise
    layers never compute padding. Attention needs rows, so it gathers the heads of
    groups of rows into batches `(b, N, s, D)`. Grouping by length keeps one long row
    from lengthening all others. This needs TensorFlow without XLA, because T depends on
    the values of the mask.

    Args:
        reads: What the attention layers read from it.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens.
        training: Whether gradients will be computed.
        whole_rows: See `PaddedRows`.
        longest: The length that no row exceeds; `None` if it is unknown.
        in_steps: Whether T grows in steps of about an eighth, by rows that are zero at
            first. Kernels that are made for each number of rows, as oneDNN's, are then
            made for few. Only for graphs without gradients.

    Attributes:
        mask, lengths: See `PaddedRows`.
        rotations: The rotation of each token, `(T, D / 2)`, by `Reads.rotation`.
    """

    def __init__(
        self,
        reads: Sequence[Reads],
        padding_mask: tf.Tensor,
        training: bool | None = None,
        whole_rows: bool = False,
        longest: int | None = None,
        in_steps: bool = False,
    ) -> None:
        self.training = training
        self.mask = padding_mask
        self._shape = tf.shape(padding_mask)
        # A row reaches from its first to its last token, including holes, so that
        # tokens keep their distances in groups.
        columns = tf.range(self._shape[1])
        firsts = tf.reduce_min(tf.where(padding_mask, columns, self._shape[1]), 1)
        lasts = tf.reduce_max(tf.where(padding_mask, columns, -1), 1)
        # For rows without tokens, this gives the largest first and smallest last.
        lengths = tf.where(lasts < firsts, 0, lasts - firsts + 1)
        order = tf.argsort(lengths)
        mask = tf.gather(padding_mask, order)
        rows, columns = tf.unstack(tf.cast(tf.where(mask), tf.int32), axis=1)  # (T,)
        self._positions = tf.gather(order, rows) * self._shape[1] + columns
        self._more = _missing(tf.size(rows)) if in_steps else None
        columns -= tf.gather(tf.gather(firsts, order), rows)
        lengths = tf.gather(lengths, order)
        counts = tf.math.count_nonzero(mask, axis=1, dtype=tf.int32)
        starts = tf.concat([[0], tf.cumsum(counts)], 0)
        self._groups = [
            _group(
                rows[starts[first] : starts[end]] - first,
                columns[starts[first] : starts[end]],
                starts[first],
                lengths[first:end],
            )
            for first, end in itertools.pairwise(_bounds(lengths))
        ]
        self.lengths = [tf.shape(group.real)[1] for group in self._groups]
        self._heads = {
            count: [_heads(group, count) for group in self._groups]
            for count in {x.num_heads for x in reads}
        }
        longest = padding_mask.shape[1] if longest is None else longest
        self._may_be_long = longest is None or longest > query_blocks.LONG
        self._may_be_long &= not (whole_rows or traced_for_engine())
        visible = [group.real[:, None, None, :] for group in self._groups]
        windows = windows_of(reads)
        # Blocks have no place for terms of relative positions.
        local = [x for x in windows if x is not None]
        if whole_rows or traced_for_engine():
            local = []
        self._biases = biases_by_window(windows - set(local), visible, self.lengths)
        if self._more is not None:
            rows, columns = (tf.pad(x, [[0, self._more]]) for x in (rows, columns))
        self.rotations = {
            key: type(rotation)(*(tf.gather(x, columns) for x in rotation))
            for key, rotation in rotations_of(reads, self._shape[1]).items()
        }
        self._blocks: dict[int, LocalBlocks] = {}
        if local:
            self._longest = tf.reduce_max(tf.stack(self.lengths))
            sequences = tf.gather(order, rows)
            real = tf.range(tf.size(rows)) < tf.size(self._positions)
            tokens = [x[None] for x in (columns, sequences, real)]  # one row, (1, T)
            for window in local:
                self._blocks[window] = LocalBlocks(window, *tokens)
                self._biases[window] = self._unless_long(window, visible)

    def _unless_long(self, window: int, visible: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the biases of a window, which are empty where blocks are used."""

        def made() -> list[tf.Tensor]:
            return biases_by_window({window}, visible, self.lengths)[window]

        def empty() -> list[tf.Tensor]:
            return [tf.zeros([0, 1, 0, 0]) for _ in visible]

        return tf.cond(blocks_pay(self._longest, window), empty, made)

    def attend(
        self,
        attention: Callable,
        query: tf.Tensor,
        key: tf.Tensor,
        value: tf.Tensor,
        window: int | None = None,
        biases: list[Any] | None = None,
        dropping: bool = False,
    ) -> tf.Tensor:
        """Calls `attention` for each group of rows; see `PaddedRows`.

        How long the rows are is only known with the batch. So where a layer has a
        window, both layouts are in a graph; and a global layer goes block by block if
        the encoder takes long rows at all.

        Args:
            attention, window, dropping: See `PaddedRows.attend`; `attention` takes
                `(b, N, s, D)`.
            query, key, value: Of each token, `(T, N, D)`.
            biases: Another term of the scores for each group.

        Returns:
            `(T, N D)`.
        """

        num_heads = query.shape[-2]

        def in_groups() -> tf.Tensor:
            loop = self._may_be_long and window is None and not dropping
            if loop and biases is not None:
                raise ValueError(NEEDS_WHOLE_ROWS)
            attended = []
            split = [self._split(x) for x in (query, key, value)]
            for i, group in enumerate(zip(*split, strict=True)):
                terms = [x[i] for x in (self._biases[window], biases) if x is not None]
                attended.append(
                    query_blocks.attend_in_loop(attention, *group, *terms)
                    if loop
                    else attention(*group, terms)
                )
            return self._join(attended, num_heads)

        blocks = None if window is None else self._blocks.get(window)
        if window is None or blocks is None:
            return in_groups()
        if biases is not None:
            raise ValueError(NEEDS_WHOLE_ROWS)

        def in_blocks() -> tf.Tensor:
            row = query[None], key[None], value[None]
            attended = blocks.attend(attention, *row, heads_first=True)
            return tf.reshape(attended, [-1, num_heads * query.shape[-1]])

        if dropping:  # the state of the seeds cannot leave a branch
            return in_blocks()
        return tf.cond(blocks_pay(self._longest, window), in_blocks, in_groups)

    def without_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(B, S, H) -> (T, H)."""
        tokens = tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self._positions)
        if self._more is None:
            return tokens
        return tf.pad(tokens, [[0, self._more], [0, 0]])

    def with_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(T, H) -> (B, S, H), zeros at padding."""
        batch, length = tf.unstack(self._shape)
        shape = [batch * length, x.shape[-1]]
        x = x if self._more is None else x[: tf.size(self._positions)]
        flat = tf.scatter_nd(self._positions[:, None], x, shape)
        rows = tf.reshape(flat, [batch, length, x.shape[-1]])
        # Where S is static, it stays so: losses compare it with that of the targets.
        rows.set_shape([*self.mask.shape, x.shape[-1]])
        return rows

    def _split(self, x: tf.Tensor) -> list[tf.Tensor]:
        """(T, N, D) -> (b, N, s, D) for each group; any finite values at padding.

        In training the gradient is a gather, because each position belongs to one
        token. TensorFlow's gradient of a gather sums rows, which is much slower.
        """
        num_heads, size = x.shape[-2:]
        if not self.training:
            return self._gathered(x, num_heads)

        @tf.custom_gradient
        def split(x):
            def gradient(*upstream):  # padding is neither attended to nor joined
                to_tokens = self._scattered(upstream, num_heads)
                return tf.reshape(to_tokens, [-1, num_heads, size])

            return self._gathered(x, num_heads), gradient

        return split(x)

    def _join(self, x: Sequence[tf.Tensor], num_heads: int) -> tf.Tensor:
        """(b, N, s, D) for each group -> (T, N D)."""
        if not self.training:
            return self._scattered(x, num_heads)

        @tf.custom_gradient
        def join(*x):
            def gradient(upstream):
                pairs = zip(
                    self._gathered(upstream, num_heads), self._groups, strict=True
                )
                return [
                    y * tf.cast(group.real[:, None, :, None], y.dtype)
                    for y, group in pairs
                ]

            return self._scattered(x, num_heads), gradient

        return join(*x)

    def _gathered(self, x: tf.Tensor, num_heads: int) -> list[tf.Tensor]:
        size = x.shape[-1] if len(x.shape) == 3 else x.shape[-1] // num_heads
        heads = tf.reshape(x, [-1, size])
        return [tf.gather(heads, y.token_of_position) for y in self._heads[num_heads]]

    def _scattered(self, x: Sequence[tf.Tensor], num_heads: int) -> tf.Tensor:
        size = x[0].shape[-1]
        tokens = [
            tf.gather(tf.reshape(group, [-1, size]), heads.position_of_token)
            for group, heads in zip(x, self._heads[num_heads], strict=True)
        ]
        if self._more is not None:
            tokens.append(tf.zeros([self._more, *tokens[0].shape[1:]], tokens[0].dtype))
        # With a static shape, TensorFlow fuses the sum that follows.
        return tf.reshape(tf.concat(tokens, 0), [-1, num_heads * size])


def _missing(rows: tf.Tensor) -> tf.Tensor:
    """Returns how many rows are missing to a multiple of 2^floor(log2 T) / 8."""
    halvings = tf.reduce_sum(tf.cast(rows >= 2 ** tf.range(7, 30), tf.int32))
    return -rows % tf.bitwise.left_shift(STEP, halvings)


def _group(
    rows: tf.Tensor, columns: tf.Tensor, first_token: tf.Tensor, lengths: tf.Tensor
) -> Group:
    """Returns the group of rows with `lengths`, (b,), and tokens at these indices."""
    batch, longest = tf.size(lengths), tf.reduce_max(tf.concat([[0], lengths], 0))
    numbers = tf.range(tf.size(rows)) + 1
    # From 1; 0 at padding. Not a reshape: a 0 in its shape has another meaning in
    # ONNX.
    indices = tf.stack([rows, columns], axis=1)
    numbers = tf.scatter_nd(indices, numbers, [batch, longest])
    # Padding gets the first token; any finite vector would do.
    tokens = first_token + tf.maximum(numbers - 1, 0)
    return Group(tokens, rows, columns, numbers > 0)


def _heads(group: Group, num_heads: int) -> Heads:
    heads, longest = tf.range(num_heads), tf.shape(group.real)[1]
    row_and_head = group.row_of_token[:, None] * num_heads + heads
    return Heads(
        group.token_of_position[:, None, :] * num_heads + heads[:, None],
        row_and_head * longest + group.column_of_token[:, None],
    )


def _bounds(lengths: tf.Tensor) -> list[tf.Tensor]:
    """Splits sorted rows into groups `bounds[i]` to `bounds[i + 1]`, maybe empty."""
    bounds = [tf.constant(0), tf.size(lengths)]
    for _ in range(CUTS):
        middles = [
            first + _cheapest_cut(lengths[first:end])
            for first, end in itertools.pairwise(bounds)
        ]
        pairs = zip(bounds[:-1], middles, strict=True)
        bounds = [bound for pair in pairs for bound in pair] + bounds[-1:]
    return bounds


def _cheapest_cut(lengths: tf.Tensor) -> tf.Tensor:
    """Returns where to split the rows, sorted by length, for the least cost.

    The attention of n rows costs n times the square of the longest.
    """
    squares = tf.square(tf.cast(lengths, tf.float32))
    squares = tf.concat([[0.0], squares], 0)  # (b + 1,)
    below = tf.range(tf.size(squares), dtype=tf.int32)
    above = tf.reverse(below, [0])
    costs = (
        tf.cast(below, tf.float32) * squares + tf.cast(above, tf.float32) * squares[-1]
    )
    return tf.argmin(costs, output_type=tf.int32)
