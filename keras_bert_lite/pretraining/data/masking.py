"""Masking of tokens for masked language models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice, check_positive, check_rate, check_share
from keras_bert_lite.text.base_tokenizer import Tokenizer

UNITS = ("token", "whole_word", "ngram")


class Masking:
    """Masks a share of the tokens of each row as targets of a language model.

    In each row, `rate` of the ordinary tokens are chosen, at least one. A chosen
    token is replaced by `[MASK]` or by a random piece, or is left unchanged.
    Padding and special tokens are never chosen, and no random piece is a special
    token.

    Args:
        tokenizer: A tokenizer whose vocabulary has a mask token.
        rate: Share of the tokens to choose.
        mask_share, random_share: Shares of the chosen tokens that are replaced by
            `[MASK]` and by a random piece; the others are left unchanged.
        unit: What is chosen at once: a `"token"`, a `"whole_word"` with all its
            pieces, or an `"ngram"` of up to `max_ngram` words of one segment, n with
            a probability proportional to 1 / n. Units that no longer fit are
            skipped.
        max_ngram: See `unit`.
        max_predictions: The maximum number of chosen tokens per row (P); `None`:
            `rate` times the row's length, rounded up.

    Call arguments:
        token_ids: int32 `(B, S)`.
        padding_mask: Booleans `(B, S)`, true at real tokens.
        seed: Two integers, `(2,)`; the same seed gives the same masks.

    Returns:
        `token_ids` `(B, S)`, after masking; `masked_positions` `(B, P)` int32, the
        positions of the chosen tokens in ascending order; `masked_ids` `(B, P)`
        int32, their original ids; `masked_weights` `(B, P)` float32, 1 for each.
        Unused entries are 0 in all three.

    Raises:
        ValueError: If an argument is out of range, or the vocabulary has no mask
            token.

    Reference: `create_masked_lm_predictions` in google-research/bert; n-grams:
    [Lan et al., 2019](https://arxiv.org/abs/1909.11942), section 4.1.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        rate: float = 0.15,
        mask_share: float = 0.8,
        random_share: float = 0.1,
        unit: str = "token",
        max_ngram: int = 3,
        max_predictions: int | None = None,
    ) -> None:
        _check_shares(rate, mask_share, random_share)
        check_choice("unit", unit, UNITS)
        check_positive("max_ngram", max_ngram)
        if max_predictions is not None:
            check_positive("max_predictions", max_predictions)
        mask = tokenizer.roles["mask"]
        if mask not in tokenizer.get_vocabulary():
            raise ValueError(
                f"`tokenizer` must have the mask token {mask!r} in its vocabulary. "
                f"Received: {tokenizer.vocabulary_size()} pieces without it"
            )
        self.rate = rate
        self.mask_share = mask_share
        self.random_share = random_share
        self.unit = unit
        self.max_ngram = max_ngram
        self.max_predictions = max_predictions
        self._mask_id = tokenizer.token_to_id(mask)
        special = [tokenizer.token_to_id(x) for x in tokenizer.special_tokens]
        self._special = np.zeros(tokenizer.vocabulary_size(), bool)
        self._special[special] = True
        self._ordinary = np.flatnonzero(~self._special).astype(np.int32)
        self._continues = tokenizer.continuations() if unit != "token" else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the arguments except the tokenizer."""
        names = ("rate", "mask_share", "random_share", "unit", "max_ngram")
        return {x: getattr(self, x) for x in (*names, "max_predictions")}

    def num_predictions(self, length: int | tf.Tensor) -> int | tf.Tensor:
        """Returns the maximum number of chosen tokens for a row length (P)."""
        if self.max_predictions is not None:
            return self.max_predictions
        if isinstance(length, int):
            return math.ceil(self.rate * length)
        return tf.cast(tf.math.ceil(self.rate * tf.cast(length, tf.float32)), tf.int32)

    def __call__(
        self, token_ids: tf.Tensor, padding_mask: tf.Tensor, seed: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        for_units, for_ngrams, for_shares, for_pieces = tf.unstack(
            tf.random.split(seed, 4)
        )
        special = tf.gather(self._special, token_ids)
        open_to = tf.logical_and(padding_mask, tf.logical_not(special))
        length = token_ids.shape[1] or tf.shape(token_ids)[1]
        most = self.num_predictions(length)
        number = _number_to_choose(open_to, self.rate, most)
        begins = self._begins(token_ids, open_to, for_ngrams)
        chosen = _choose(begins, open_to, number, for_units)
        positions, weights = _first_places(chosen, most)
        return {
            "token_ids": self._replaced(token_ids, chosen, for_shares, for_pieces),
            "masked_positions": positions,
            "masked_ids": tf.where(
                weights > 0, tf.gather(token_ids, positions, batch_dims=1), 0
            ),
            "masked_weights": weights,
        }

    def _begins(self, ids: tf.Tensor, open_to: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Returns where units begin, (B, S) bool."""
        if self.unit == "token":
            return open_to
        before = _shifted(open_to, False)
        continues = tf.logical_and(tf.gather(self._continues, ids), before)
        words = tf.logical_and(open_to, tf.logical_not(continues))
        if self.unit == "whole_word":
            return words
        return _ngram_begins(words, before, self.max_ngram, seed)

    def _replaced(self, ids, chosen, for_shares, for_pieces) -> tf.Tensor:
        shape = tf.shape(ids)
        share = tf.random.stateless_uniform(shape, for_shares)
        pieces = tf.random.stateless_uniform(
            shape, for_pieces, 0, len(self._ordinary), tf.int32
        )
        masked = tf.logical_and(chosen, share < self.mask_share)
        both = tf.logical_and(chosen, share < self.mask_share + self.random_share)
        ids = tf.where(both, tf.gather(self._ordinary, pieces), ids)
        return tf.where(masked, self._mask_id, ids)


def _check_shares(rate: Any, mask_share: Any, random_share: Any) -> None:
    check_rate("rate", rate)
    check_share("mask_share", mask_share)
    check_share("random_share", random_share)
    if not rate:
        raise ValueError(f"`rate` must be above 0. Received: {rate!r}")
    if mask_share + random_share > 1 + 1e-9:
        raise ValueError(
            "`mask_share` and `random_share` must be at most 1 together. Received: "
            f"{mask_share!r} and {random_share!r}"
        )


def _number_to_choose(open_to: tf.Tensor, rate: float, most: Any) -> tf.Tensor:
    """Returns the number of tokens to choose in each row, (B,) int32."""
    count = tf.math.count_nonzero(open_to, axis=1, dtype=tf.int32)
    number = tf.cast(tf.round(rate * tf.cast(count, tf.float32)), tf.int32)
    number = tf.minimum(tf.maximum(number, 1), most)
    return tf.minimum(number, count)


def _shifted(x: tf.Tensor, first: bool) -> tf.Tensor:
    """Shifts rows one column to the right, (B, S)."""
    return tf.concat([tf.fill([tf.shape(x)[0], 1], first), x[:, :-1]], 1)


def _ngram_begins(
    words: tf.Tensor, before: tf.Tensor, max_ngram: int, seed: tf.Tensor
) -> tf.Tensor:
    """Returns where n-grams of n words, fewer at a segment's end, begin, (B, S)."""
    shape = tf.shape(words)
    chances = np.log(1 / np.arange(1, max_ngram + 1))
    lengths = tf.random.stateless_categorical(
        chances[None], shape[0] * shape[1], seed, tf.int32
    )
    ends = tf.cumsum(tf.reshape(lengths, shape) + 1, 1)  # of n-grams, in words
    word = tf.cumsum(tf.cast(words, tf.int32), 1) - 1
    ngram = tf.searchsorted(ends, word, side="right")
    other = tf.not_equal(ngram, tf.concat([ngram[:, :1] - 1, ngram[:, :-1]], 1))
    new = tf.logical_or(other, tf.logical_not(before))
    return tf.logical_and(words, new)


def _choose(
    begins: tf.Tensor, open_to: tf.Tensor, number: tf.Tensor, seed: tf.Tensor
) -> tf.Tensor:
    """Chooses units in a random order while they fit in `number`, (B, S) bool."""
    shape = tf.shape(begins)
    unit = tf.cumsum(tf.cast(begins, tf.int32), 1) - 1
    unit = tf.where(open_to, unit, shape[1])  # in no unit
    sizes = tf.math.bincount(
        unit, minlength=shape[1] + 1, maxlength=shape[1] + 1, axis=-1
    )[:, :-1]
    sizes = tf.ensure_shape(sizes, begins.shape)  # `bincount` loses the static shape
    keys = tf.random.stateless_uniform(shape, seed)
    order = tf.argsort(tf.where(sizes > 0, keys, 2.0), axis=1)
    taken = _fill(tf.gather(sizes, order, batch_dims=1), number)
    rows = tf.cast(tf.where(taken)[:, 0], tf.int32)
    cells = tf.stack([rows, order[taken]], 1)
    units = tf.scatter_nd(cells, tf.ones_like(rows, tf.bool), tf.add(shape, [0, 1]))
    return tf.gather(units, unit, batch_dims=1)


def _fill(sizes: tf.Tensor, room: tf.Tensor) -> tf.Tensor:
    """Takes units from left to right, skipping those that do not fit, (B, U) bool."""

    def more(taken, room):
        left = tf.where(taken, 0, sizes)
        return tf.reduce_any(tf.logical_and(left > 0, left <= room[:, None]))

    def step(taken, room):
        fits = tf.logical_and(tf.logical_not(taken), sizes <= room[:, None])
        left = tf.where(fits, sizes, 0)
        new = tf.logical_and(left > 0, tf.cumsum(left, 1) <= room[:, None])
        room -= tf.reduce_sum(tf.where(new, sizes, 0), 1)
        return tf.logical_or(taken, new), room

    taken, _ = tf.while_loop(more, step, (tf.zeros_like(sizes, tf.bool), room))
    return taken


def _first_places(chosen: tf.Tensor, number: Any) -> tf.Tensor:
    """Returns the positions of the chosen, ascending, and their weights, (B, P)."""
    chosen = tf.pad(chosen, [[0, 0], [0, number]])
    early = tf.range(tf.shape(chosen)[1], 0, -1) * tf.cast(chosen, tf.int32)
    order = tf.math.top_k(early, number).indices
    count = tf.math.count_nonzero(chosen, axis=1, dtype=tf.int32)
    there = tf.range(number) < count[:, None]
    return tf.where(there, order, 0), tf.cast(there, tf.float32)
