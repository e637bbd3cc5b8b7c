"""The layout without padding: only the real tokens of a batch."""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert_lite.config import EncoderConfig
from keras_bert_lite.layers.execution import query_blocks
from keras_bert_lite.layers.execution.engines import traced_for_engine
from keras_bert_lite.layers.execution.local_blocks import LocalBlocks, blocks_pay
from keras_bert_lite.layers.execution.padded_rows import (
    biases_by_window,
    local_rotations,
    rotations_by_base,
    windows_of,
)

# How many times the rows, sorted by length, are split in two for attention.
CUTS = 1
# The smallest step from one number of rows to the next; see `RealTokens.in_steps`.
STEP = 8


class Group(NamedTuple):
    """Rows of similar length that attend together: b rows of length s."""

    token_of_position: tf.Tensor  # (b, N, s) int32, into heads of tokens (T * N, D)
    position_of_token: tf.Tensor  # (tokens of the group, N) int32, the inverse
    real: tf.Tensor  # (b, s) booleans, false at padding


class RealTokens:
    """The T real tokens of a padded batch `(B, S)`, those of short rows first.

    Between `without_padding` and `with_padding`, layers get `(T, H)`, so position-wise
    layers never compute padding. Attention needs rows, so it gathers the heads of
    groups of rows into batches `(b, N, s, D)`. Grouping by length keeps one long row
    from lengthening all others. This needs TensorFlow without XLA, because T depends on
    the values of the mask.

    Args:
        config: The encoder's configuration.
        padding_mask: Booleans of shape `(B, S)`, true at real tokens.
        training: Whether gradients will be computed.

    Attributes:
        mask, lengths, biases, rotations: See `PaddedRows`.
    """

    _in_steps = False

    def __init__(
        self,
        config: EncoderConfig,
        padding_mask: tf.Tensor,
        training: bool | None = None,
    ) -> None:
        self.num_heads = config.num_heads
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
        self._more = _missing(tf.size(rows)) if self._in_steps else None
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
                self.num_heads,
            )
            for first, end in itertools.pairwise(_bounds(lengths))
        ]
        self.lengths = [tf.shape(group.real)[1] for group in self._groups]
        visible = [group.real[:, None, None, :] for group in self._groups]
        windows = windows_of(config)
        self._may_be_long = not 0 < config.num_positions <= query_blocks.LONG
        self._may_be_long &= not traced_for_engine()
        # Blocks have no place for terms of relative positions.
        local = [x for x in windows if x is not None]
        if config.has_relative_scores or traced_for_engine():
            local = []
        self.biases = biases_by_window(windows - set(local), visible, self.lengths)
        self.rotations = rotations_by_base(config, self.lengths)
        self._blocks: dict[int, LocalBlocks] = {}
        if local:
            self._longest = tf.reduce_max(tf.stack(self.lengths))
            rows = tf.gather(order, rows)
        for window in local:
            self._blocks[window] = self._local_blocks(config, window, rows, columns)
            self.biases[window] = self._unless_long(window, visible)

    def _local_blocks(
        self, config: EncoderConfig, window: int, rows: tf.Tensor, columns: tf.Tensor
    ) -> LocalBlocks:
        """Returns the blocks of all tokens in one row, `(1, T)`."""
        real = tf.ones_like(rows)
        if self._more is not None:
            rows, columns, real = (
                tf.pad(x, [[0, self._more]]) for x in (rows, columns, real)
            )
        # The last group is the longest, so its rotations are those of all columns.
        turns = local_rotations(config, self.rotations)
        turns = {base: of_groups[-1:] for base, of_groups in turns.items()}
        return LocalBlocks(
            self.num_heads, window, columns[None], rows[None], real[None], turns
        )

    def _unless_long(self, window: int, visible: list[tf.Tensor]) -> list[tf.Tensor]:
        """Returns the biases of a window, which are empty where blocks are used."""

        def made() -> list[tf.Tensor]:
            return biases_by_window({window}, visible, self.lengths)[window]

        def empty() -> list[tf.Tensor]:
            return [tf.zeros([0, 1, 0, 0]) for _ in visible]

        return tf.cond(blocks_pay(self._longest, window), empty, made)

    def attend(self, window: int | None, attend: Callable, dropping: bool) -> Any:
        """Calls `attend(rows, long)` with the layout for a layer; see `PaddedRows`.

        How long the rows are is only known with the batch. So where a layer has a
        window, both layouts are in a graph; and a global layer goes block by block if
        the encoder takes long rows at all.
        """
        if window is None:
            return attend(self, self._may_be_long and not dropping)
        if window not in self._blocks:
            return attend(self, False)
        blocks = self._blocks[window]
        if dropping:  # the state of the seeds cannot leave a branch
            return attend(blocks, False)
        return tf.cond(
            blocks_pay(self._longest, window),
            lambda: attend(blocks, False),
            lambda: attend(self, False),
        )

    def with_neighbours(self, x: tf.Tensor) -> tf.Tensor:
        """Returns `x`: keys and values are those of the row."""
        return x

    @classmethod
    @contextlib.contextmanager
    def in_steps(cls) -> Iterator[None]:
        """Lets T grow in steps of about an eighth, by rows that are zero at first.

        Kernels that are made for each number of rows, as oneDNN's, are then made for
        few. Only for graphs without gradients.
        """
        cls._in_steps = True
        try:
            yield
        finally:
            cls._in_steps = False

    def without_padding(self, x: tf.Tensor) -> tf.Tensor:
        """(B, S, H) -> (T, H)."""
        found = tf.gather(tf.reshape(x, [-1, x.shape[-1]]), self._positions)
        if self._more is None:
            return found
        return tf.pad(found, [[0, self._more], [0, 0]])

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

    def split_heads(self, x: tf.Tensor) -> list[tf.Tensor]:
        """(T, H) -> (b, N, s, D) for each group; any finite values at padding.

        In training the gradient is a gather, because each position belongs to one
        token. TensorFlow's gradient of a gather sums rows, which is much slower.
        """
        if not self.training:
            return self._split(x)

        @tf.custom_gradient
        def split(x):
            # Padding is neither attended to nor joined.
            return self._split(x), lambda *gradients: self._join(gradients, x)

        return split(x)

    def join_heads(self, x: Sequence[tf.Tensor], like: tf.Tensor) -> tf.Tensor:
        """(b, N, s, D) for each group -> (T, H), the shape of `like`."""
        if not self.training:
            return self._join(x, like)

        @tf.custom_gradient
        def join(*x):
            return self._join(x, like), self._split_gradient

        return join(*x)

    def _split_gradient(self, gradient: tf.Tensor) -> list[tf.Tensor]:
        return [
            x * tf.cast(group.real[:, None, :, None], x.dtype)
            for x, group in zip(self._split(gradient), self._groups, strict=True)
        ]

    def _split(self, x: tf.Tensor) -> list[tf.Tensor]:
        heads = tf.reshape(x, [-1, x.shape[-1] // self.num_heads])
        return [tf.gather(heads, group.token_of_position) for group in self._groups]

    def _join(self, x: Sequence[tf.Tensor], like: tf.Tensor) -> tf.Tensor:
        tokens = [
            tf.gather(tf.reshape(heads, [-1, heads.shape[-1]]), group.position_of_token)
            for heads, group in zip(x, self._groups, strict=True)
        ]
        if self._more is not None:
            tokens.append(tf.zeros([self._more, *tokens[0].shape[1:]]))
        # With a static shape, TensorFlow fuses the sum that follows.
        return tf.reshape(tf.concat(tokens, 0), tf.shape(like))


def _missing(rows: tf.Tensor) -> tf.Tensor:
    """Returns how many rows are missing to a multiple of 2^floor(log2 T) / 8."""
    halvings = tf.reduce_sum(tf.cast(rows >= 2 ** tf.range(7, 30), tf.int32))
    return -rows % tf.bitwise.left_shift(STEP, halvings)


def _group(
    rows: tf.Tensor,
    columns: tf.Tensor,
    first_token: tf.Tensor,
    lengths: tf.Tensor,
    num_heads: int,
) -> Group:
    """Returns the group of rows with `lengths`, (b,), and tokens at these indices."""
    batch, longest = tf.size(lengths), tf.reduce_max(tf.concat([[0], lengths], 0))
    heads = tf.range(num_heads)
    row_and_head = rows[:, None] * num_heads + heads
    numbers = tf.range(tf.size(rows)) + 1
    # From 1; 0 at padding. Not a reshape: a 0 in its shape has another meaning in
    # ONNX.
    indices = tf.stack([rows, columns], axis=1)
    numbers = tf.scatter_nd(indices, numbers, [batch, longest])
    # Padding gets the first token; any finite vector would do.
    tokens = first_token + tf.maximum(numbers - 1, 0)
    return Group(
        tokens[:, None, :] * num_heads + heads[:, None],
        row_and_head * longest + columns[:, None],
        numbers > 0,
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
