"""The rows of a run: where they come from, which are held out, in which order."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Unpack

import numpy as np

from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.topics import topic_batches
from keras_bert_lite.tasks.task import FineTuning
from keras_bert_lite.training.data.batches import POOL
from keras_bert_lite.training.data.distinct import Texts
from keras_bert_lite.training.data.readers.read import Reading, read
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.retrieval import retrieval_set
from keras_bert_lite.training.data.row_formats import (
    Columns,
    Labels,
    RowFormat,
    Rows,
)

GROUP = "group"  # what a row calls the column that `evaluate` scores by


class Split(NamedTuple):
    """Rows to train on and to choose by, and whether the latter were given."""

    train: Rows
    validation: Rows
    given: bool


def read_rows(
    source: Any,
    form: RowFormat,
    columns: Columns,
    argument: str,
    group: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[Rows, Columns]:
    """Reads and checks all rows of a source.

    Args:
        source: See `read`.
        form: What the rows hold.
        columns: The columns that were named.
        argument: The name of the source in error messages.
        group: A column that rows keep too, as `GROUP`.
        **reading: Options of `read`.

    Returns:
        The rows, and all columns, those that the first record has included.

    Raises:
        ValueError: If there are no rows, a column is missing or a value is invalid.
    """
    rows: list[Record] = []
    for number, record in enumerate(_records(source, form, argument, **reading)):
        if not rows:
            columns = form.columns_of(columns, record)
        try:
            row = form.read(record, columns)
            rows.append(row if group is None else {**row, GROUP: _group(record, group)})
        except ValueError as error:
            raise ValueError(f"`{argument}`, record {number}: {error}") from None
    if not rows:
        raise ValueError(f"`{argument}` must hold records. Received: none")
    try:
        return form.prepared(rows), columns
    except ValueError as error:
        raise ValueError(f"`{argument}`: {error}") from None


def _group(record: Record, column: str) -> str:
    if column not in record:
        raise ValueError(
            f"`group` must be one of its columns, {[*record]}. Received: {column!r}"
        )
    return str(record[column])


def _records(
    source: Any, form: RowFormat, argument: str, **reading: Unpack[Reading]
) -> Iterable[Record]:
    data = retrieval_set(source)
    if data is None:
        return read(source, argument, **reading)
    if reading:
        raise ValueError(
            f"`{argument}` must be rows for the options {sorted(reading)}. Received: a "
            "retrieval set"
        )
    try:
        return form.of_retrieval(data)
    except ValueError as error:
        raise ValueError(f"`{argument}` {error}") from None


def check_labels(rows: Rows, form: RowFormat, labels: Labels, argument: str) -> None:
    """Refuses rows with a label that is none of a model's.

    Raises:
        ValueError: If there is one.
    """
    for number, row in enumerate(rows):
        for name, values in form.labels(row).items():
            if unknown := sorted(set(values) - set(labels[name])):
                raise ValueError(
                    f"`{argument}`, record {number}: its {name} must be of the "
                    f"model's, {labels[name]}. Received: {unknown}"
                )


def sample(rows: Rows, most: int | None, seed: int) -> Rows:
    """Returns all rows, or some if they are more than `most`, in their order."""
    if most is None or len(rows) <= most:
        return rows
    chosen = np.random.default_rng(seed).choice(len(rows), most, replace=False)
    return [rows[i] for i in sorted(chosen)]


def split(train: Rows, validation: Rows | None, seed: int) -> Split:
    """Holds out a tenth of the rows, from 200 (or a quarter) to 2,000 of them.

    Raises:
        ValueError: If there are too few rows to hold some out.
    """
    if validation is not None:
        return Split(train, validation, True)
    least = min(RECIPE.held_out_least, len(train) // 4)
    count = max(int(RECIPE.held_out_share * len(train)), least)
    count = min(count, RECIPE.held_out_most)
    if not count:
        raise ValueError(
            "`train` must have at least four rows, as some are held out, or "
            f"`validation` must be given. Received: {len(train)}"
        )
    order = np.random.default_rng(seed).permutation(len(train))
    return Split(
        [train[i] for i in order[count:]], [train[i] for i in order[:count]], False
    )


def with_held_out(parts: Split, count: int | None) -> Split:
    """Holds out so many rows, if not all; the others are trained on."""
    if count is None:
        return parts
    held_out, others = parts.validation[:count], parts.validation[count:]
    return Split([*parts.train, *others], held_out, parts.given)


def in_stages(
    rows: Rows, form: FineTuning, batch_size: int, seed: int, count: int
) -> Iterator[Record]:
    """Yields rows forever: at first some `count` of those that the task begins with.

    Both parts are `ordered`. Too few rows for a batch have no part of their own.
    """
    first = form.first(rows) if form.first else rows
    if batch_size <= len(first) < len(rows):
        whole = count // batch_size * batch_size
        yield from itertools.islice(ordered(first, form.rows, batch_size, seed), whole)
    yield from ordered(rows, form.rows, batch_size, seed, form.distinct)


def ordered(
    rows: Rows, form: RowFormat, batch_size: int, seed: int, distinct: bool = False
) -> Iterator[Record]:
    """Yields rows forever, each epoch in another order, batches of similar length.

    The rows of 50 batches at a time are sorted by their length, and the batches
    shuffled, as `group_by_length` of `batches` does; batches without repeated texts are
    `topic_batches` instead. The order depends on the seed alone, so that an interrupted
    run can go on.

    Args:
        rows: The rows.
        form: What they hold.
        batch_size: The rows of a batch.
        seed: Seed of the orders.
        distinct: Whether no text may occur twice in a batch.
    """
    orders = (
        topic_batches(distinct_texts(rows, form), batch_size, seed)
        if distinct
        else _orders(rows, form, batch_size, seed)
    )
    for order in orders:
        yield from (rows[i] for i in order)


def distinct_texts(rows: Rows, form: RowFormat) -> list[Texts]:
    """Returns the texts of each row."""
    return [frozenset(form.key(row)) for row in rows]


def _orders(
    rows: Rows, form: RowFormat, batch_size: int, seed: int
) -> Iterator[list[int]]:
    lengths = np.array([form.length(row) for row in rows])
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(rows))
        pools = np.array_split(order, -(-len(order) // (POOL * batch_size)))
        batches: list[np.ndarray] = []
        for pool in pools:
            by_length = pool[np.argsort(lengths[pool], kind="stable")]
            batches += np.array_split(by_length, -(-len(by_length) // batch_size))
        shuffled = [batches[i] for i in rng.permutation(len(batches))]
        yield np.concatenate(shuffled).tolist()
