"""The rows that all sides get, read once with this package's readers."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.finetuning.tasks import ORDER_SEED, Task

Row = dict[str, Any]


def read(task: Task, data: Path) -> tuple[list[Row], list[Row]]:
    """Returns the training and the development rows of a task.

    Rows are dictionaries: `text`, perhaps `text_pair`, and `target`; or `words` and
    `tags`; or `id`, `question`, `context` and `answers`.
    """
    reader = {"tags": _tagged, "answer": _questions}.get(task.kind, _table)
    train, dev = reader(task, [data / name for name in task.files])
    if task.rows is not None and len(train) < task.rows:
        raise ValueError(
            f"{task.name!r} must have {task.rows} rows to train on. "
            f"Received: {len(train)}"
        )
    return subset(train, task.rows), dev[: task.dev_rows]


def subset(rows: list[Row], number: int | None) -> list[Row]:
    """Returns the first of a permutation that never changes."""
    order = np.random.default_rng(ORDER_SEED).permutation(len(rows))
    return [rows[i] for i in order[:number]]


def orders(number: int, epochs: int, seed: int) -> list[list[int]]:
    """Returns the order of the rows in each epoch of a run."""
    return [
        np.random.default_rng([seed, epoch]).permutation(number).tolist()
        for epoch in range(epochs)
    ]


def _table(task: Task, paths: list[Path]) -> list[list[Row]]:
    from keras_bert_lite.training.data import read_csv

    def convert(value: str) -> float:
        return int(value) if task.kind == "class" else float(value) / task.highest

    columns = {"text": task.text, "text_pair": task.text_pair, "target": task.target}
    return [
        [
            {name: row[column] for name, column in columns.items() if column}
            for row in read_csv(path, converters={task.target: convert})
        ]
        for path in paths
    ]


def _tagged(task: Task, paths: list[Path]) -> list[list[Row]]:
    from keras_bert_lite.training.data import read_conll

    return [list(read_conll(path, scheme="bio")) for path in paths]


def _questions(task: Task, paths: list[Path]) -> list[list[Row]]:
    """The questions of the first and of the last articles, the last ones mixed."""
    from keras_bert_lite.training.data import read_squad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # how many answers moved
        train, dev = (list(read_squad(path, misplaced="find")) for path in paths)
    titles = list(dict.fromkeys(row["title"] for row in train))
    kept = set(titles[: len(titles) - task.held_out])
    held_out = [row for row in dev if row["title"] not in kept]
    return [[x for x in train if x["title"] in kept], subset(held_out, len(held_out))]
