"""Batches in which no text occurs twice, as losses of in-batch negatives need."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.training.data.options import without_tuning
from keras_bert_lite.training.data.row_datasets import Row

Texts = frozenset[Hashable]
END = -1  # of an order


def distinct_batches(
    rows: Sequence[Row], batch_size: int, seed: int | None
) -> tf.data.Dataset:
    """Makes batches of rows, none of which has a text of another.

    An epoch has as many full batches as the rows would fill, in an order of its own. A
    row that repeats a text of its batch waits for a later one; towards the end, rows
    of which there are many copies may be left out, and others come a second time.

    Args:
        rows: The rows, which are held in memory.
        batch_size: The number of rows in a batch.
        seed: Seed of the orders; `None`: that of `keras.utils.set_random_seed`.

    Raises:
        ValueError: If not as many rows have different texts.
    """
    texts = [_texts(row) for row in rows]
    count = len(rows) // batch_size
    # Refuses what has no such batch before training begins.
    next(places_of(texts, batch_size, _orders(len(rows), np.random.default_rng(0))))
    if seed is None:
        seed = int(np.random.randint(2**31))
    epochs = itertools.count()

    def batches() -> Iterator[Row]:
        orders = _orders(len(rows), np.random.default_rng([seed, next(epochs)]))
        for places in itertools.islice(places_of(texts, batch_size, orders), count):
            yield {name: np.stack([rows[i][name] for i in places]) for name in rows[0]}

    signature = {
        name: tf.TensorSpec((batch_size, *value.shape), value.dtype)
        for name, value in rows[0].items()
    }
    made = tf.data.Dataset.from_generator(batches, output_signature=signature)
    return without_tuning(made.apply(tf.data.experimental.assert_cardinality(count)))


def places_of(
    texts: Sequence[Texts], batch_size: int, orders: Iterator[Sequence[int]]
) -> Iterator[list[int]]:
    """Yields batches of places without end, of which no two have a text in common.

    Args:
        texts: The texts at each place.
        batch_size: The number of places in a batch.
        orders: Orders of all places, without end.

    Raises:
        ValueError: If there is no such batch.
    """
    waiting: dict[int, None] = {}  # in order
    order: Iterator[int] = iter(())
    while True:
        batch: list[int] = []
        used: set[Hashable] = set()
        for i in list(waiting):
            if len(batch) < batch_size and used.isdisjoint(texts[i]):
                batch.append(i)
                used |= texts[i]
                del waiting[i]
        rejected = 0
        while len(batch) < batch_size:
            i = next(order, END)
            if i == END:
                order = iter(next(orders))
            elif used.isdisjoint(texts[i]):
                batch.append(i)
                used |= texts[i]
                waiting.pop(i, None)
                rejected = 0
            else:
                waiting[i] = None
                rejected += 1
            if rejected > 2 * len(texts):  # at least one whole order
                raise ValueError(
                    f"`batch_size` must be at most {len(batch)}: no more rows have "
                    f"different texts. Received: {batch_size}"
                )
        yield batch


def count_distinct(texts: Iterable[Texts]) -> int:
    """Returns how many places, in their order, have no text of one before."""
    used: set[Hashable] = set()
    count = 0
    for each in texts:
        if used.isdisjoint(each):
            used |= each
            count += 1
    return count


def _orders(count: int, rng: np.random.Generator) -> Iterator[list[int]]:
    while True:
        yield rng.permutation(count).tolist()


def _texts(row: Row) -> Texts:
    strings = (value for value in row.values() if value.dtype == object)
    return frozenset(text for value in strings for text in value.ravel().tolist())
