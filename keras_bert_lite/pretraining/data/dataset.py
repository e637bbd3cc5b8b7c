"""Reading pretraining data for `model.fit`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.checks import check_choice, check_not_negative, check_positive
from keras_bert_lite.pretraining.data.masking import Masking
from keras_bert_lite.pretraining.data.recipe import Recipe
from keras_bert_lite.pretraining.data.shards import (
    SETTINGS,
    read_index,
    read_settings,
)
from keras_bert_lite.tasks.masked_lm import PREDICTION
from keras_bert_lite.tasks.pretraining.bert import PAIRS
from keras_bert_lite.tasks.pretraining.electra import REPLACED
from keras_bert_lite.training.data.options import mapped, without_tuning

READ_AT_ONCE = 8  # shards that are interleaved

Tensors: TypeAlias = "dict[str, tf.Tensor]"


def read_recipe(directory: str | os.PathLike, argument: str = "directory") -> Recipe:
    """Returns the recipe of pretraining data.

    Args:
        directory: The directory of the data.
        argument: Its name in error messages.

    Raises:
        FileNotFoundError: If `directory` holds no pretraining data.
        ValueError: If the settings file is damaged.
    """
    if not (Path(directory) / SETTINGS).is_file():
        raise FileNotFoundError(
            f"`{argument}` must hold pretraining data. Received: {str(directory)!r}"
        )
    return Recipe.from_json(json.dumps(read_settings(Path(directory))["recipe"]))


def pretraining_dataset(
    directory: str | os.PathLike,
    batch_size: int,
    masking: Masking | None = None,
    seed: int = 0,
    shuffle: int = 10_000,
    start: int = 0,
    padding: str = "max_length",
    replaced: bool = False,
    part: tuple[int, int] = (0, 1),
) -> tf.data.Dataset:
    """Reads the output of `write_pretraining_data` as an infinite data set.

    Every epoch has its own order and its own masks, unless the tokens were masked
    when the data were written. Everything depends only on `seed`: batch n is the
    same whether the data set starts there or earlier.

    Args:
        directory: The directory of the data.
        batch_size: Rows (B) in a batch. Every batch is full; where there are fewer
            rows, it has them more than once, with other masks each time.
        masking: Chooses the masked tokens; `None`: that of the data, or
            `Masking(tokenizer)` if the data are not masked.
        seed: Seed for the order and the masks.
        shuffle: How many rows to shuffle together; they are held in memory.
        start: The index of the first batch.
        padding: `"max_length"`, as TPUs and XLA need, or `"longest"`.
        replaced: Whether to make the targets of replaced token detection.
        part: `(k, n)`: the k-th, from 0, of n parts, for processes that read for
            themselves. In each epoch each part has other shards than the others (if
            there are fewer shards than parts, other rows of all shards), and its own
            masks; its batches have `batch_size / n` rows. The parts together hold
            each row once an epoch, in other batches than `(0, 1)` has.

    Returns:
        A `tf.data.Dataset` of `(inputs, targets, weights)`, dictionaries. Inputs:
        `token_ids`, `segment_ids` (int32), `padding_mask` (bool), `(B, S)`, and
        `masked_positions` `(B, P)` int32; for packed rows `sequence_ids` `(B, S)`
        int32, which number the segments from 1 and are 0 at padding. Targets:
        `prediction_logits` `(B, P)`, the ids at the masked positions; for pairs
        `seq_relationship_logits` `(B,)`; with `replaced` also `replaced_logits`,
        the original ids `(B, S)`. Weights are 1 where there is a target.

    Raises:
        FileNotFoundError: If `directory` holds no data, or unfinished data.
        ValueError: If a shard is missing or has another size, the settings or the
            index are damaged, or an argument is out of range.
    """
    check_positive("batch_size", batch_size)
    check_positive("shuffle", shuffle)
    check_not_negative("start", start)
    check_choice("padding", padding, ("max_length", "longest"))
    directory = Path(directory)
    recipe, shards = read_recipe(directory), read_index(directory)
    names = [str(directory / shard.name) for shard in shards if shard.rows]
    size = _rows_of_part(part, batch_size)
    rows = _examples(names, seed, shuffle, part).batch(size, drop_remainder=True)
    reader = _Reader(recipe, masking, padding, replaced)
    numbered = rows.enumerate().skip(start)

    def read(number: tf.Tensor, examples: tf.Tensor) -> Any:
        number = number * part[1] + part[0]
        return reader(examples, tf.stack([tf.constant(seed, tf.int64), number]))

    batches = mapped(numbered, read)
    # If the size is unknown, Keras 3.15.1 averages losses over one step too many.
    endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
    return batches.prefetch(tf.data.AUTOTUNE).apply(endless)


def _rows_of_part(part: tuple[int, int], batch_size: int) -> int:
    """Returns how many rows of each batch a part has."""
    index, count = part
    if not 0 <= index < count:
        raise ValueError(f"`part` must be (k, n) with 0 <= k < n. Received: {part}")
    if batch_size % count:
        raise ValueError(
            f"`batch_size` must be a multiple of the {count} parts that are read by "
            f"processes of their own. Received: {batch_size}"
        )
    return batch_size // count


def _examples(
    names: list[str], seed: int, shuffle: int, part: tuple[int, int]
) -> tf.data.Dataset:
    """Yields serialized rows without end, shuffled, those of a part once per epoch."""
    index, count = part
    by_row = len(names) < count

    def epoch(number: tf.Tensor) -> tf.data.Dataset:
        def seeds(batch: Any) -> tf.Tensor:
            return tf.stack([tf.constant(seed, tf.int64), number * 2**32 + batch])

        def mixed(batch: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
            return tf.random.experimental.stateless_shuffle(rows, seeds(batch))

        # `Dataset.shuffle` would also depend on the global seed.
        ordered = tf.random.experimental.stateless_shuffle(names, seeds(-1))
        ordered = ordered if by_row else ordered[index::count]
        rows = tf.data.Dataset.from_tensor_slices(ordered).interleave(
            tf.data.TFRecordDataset,
            cycle_length=min(READ_AT_ONCE, len(names)),
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
        rows = rows.shard(count, index) if by_row else rows
        return rows.batch(shuffle).enumerate().map(mixed).unbatch()

    return without_tuning(tf.data.Dataset.counter().flat_map(epoch))


class _Reader:
    """Parses serialized rows into inputs, targets and weights."""

    def __init__(
        self, recipe: Recipe, masking: Masking | None, padding: str, replaced: bool
    ) -> None:
        self.recipe, self.replaced = recipe, replaced
        self.masked_before = recipe.masking is not None
        if self.masked_before and masking is not None:
            raise ValueError(
                "`masking` must be None: these data were masked when they were "
                f"written. Received: {masking.to_dict()}"
            )
        self.masking = masking or recipe.make_masking(**(recipe.masking or {}))
        length = recipe.sequence_length
        self.width = {"max_length": length, "longest": None}[padding]
        names = ["token_ids"]
        names += ["second", "label"] if recipe.has_pairs else []
        names += ["lengths"] if recipe.pack else []
        names += ["masked_positions", "masked_ids"] if self.masked_before else []
        self.features = {x: tf.io.RaggedFeature(tf.int64, x) for x in names}

    def __call__(self, examples: tf.Tensor, seed: tf.Tensor) -> tuple[Tensors, ...]:
        rows = {
            name: tf.cast(value, tf.int32)
            for name, value in tf.io.parse_example(examples, self.features).items()
        }
        inputs = self._inputs(rows)
        masked = self._masked(rows, inputs, seed)
        original = self._original(rows, inputs)
        inputs["token_ids"] = masked["token_ids"]
        inputs["masked_positions"] = masked["masked_positions"]
        targets = {PREDICTION.name: masked["masked_ids"]}
        weights = {PREDICTION.name: masked["masked_weights"]}
        if self.recipe.has_pairs:
            label = rows["label"].values
            targets[PAIRS.name] = label
            weights[PAIRS.name] = tf.ones_like(label, tf.float32)
        if self.replaced:
            targets[REPLACED.name] = original
            weights[REPLACED.name] = tf.cast(inputs["padding_mask"], tf.float32)
        return inputs, targets, weights

    def _inputs(self, rows: dict[str, tf.RaggedTensor]) -> Tensors:
        preprocessor = self.recipe.preprocessor
        ids = rows["token_ids"]
        dense = ids.to_tensor(preprocessor.tokenizer.pad_id, shape=[None, self.width])
        columns = tf.range(tf.shape(dense)[1])
        mask = columns < tf.cast(ids.row_lengths(), tf.int32)[:, None]
        segments = tf.zeros_like(dense)
        if self.recipe.has_pairs and preprocessor.num_separators == 1:
            behind = columns >= rows["second"].values[:, None]
            segments = tf.cast(tf.logical_and(behind, mask), tf.int32)
        inputs = {"token_ids": dense, "segment_ids": segments, "padding_mask": mask}
        if self.recipe.pack:
            inputs["sequence_ids"] = _sequence_ids(rows["lengths"], columns, mask)
        return inputs

    def _masked(
        self, rows: dict[str, tf.RaggedTensor], inputs: Tensors, seed: tf.Tensor
    ) -> Tensors:
        if not self.masked_before:
            return self.masking(inputs["token_ids"], inputs["padding_mask"], seed)
        width = inputs["token_ids"].shape[1] or tf.shape(inputs["token_ids"])[1]
        most = self.masking.num_predictions(width)
        # `to_tensor` takes a list of integers or one tensor, not a mixture.
        shape = [None, most] if isinstance(most, int) else tf.stack([-1, most])
        positions = rows["masked_positions"]
        weights = tf.ones_like(positions, tf.float32)
        return {
            "token_ids": inputs["token_ids"],
            "masked_positions": positions.to_tensor(shape=shape),
            "masked_ids": rows["masked_ids"].to_tensor(shape=shape),
            "masked_weights": weights.to_tensor(shape=shape),
        }

    def _original(self, rows: dict[str, tf.RaggedTensor], inputs: Tensors) -> tf.Tensor:
        """Returns the ids before masking, (B, S)."""
        if not self.masked_before:
            return inputs["token_ids"]
        positions = rows["masked_positions"]
        where = tf.stack([positions.value_rowids(), positions.values], axis=-1)
        found = rows["masked_ids"].values
        return tf.tensor_scatter_nd_update(inputs["token_ids"], where, found)


def _sequence_ids(
    lengths: tf.RaggedTensor, columns: tf.Tensor, mask: tf.Tensor
) -> tf.Tensor:
    """Numbers the segments of each row from 1, given their lengths: (B, S)."""
    ends = tf.cumsum(lengths.to_tensor(), 1)
    wide = tf.broadcast_to(columns, tf.shape(mask))
    number = tf.searchsorted(ends, wide, side="right") + 1
    return tf.where(mask, number, 0)
