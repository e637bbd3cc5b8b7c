"""The tasks: their files, the fixed subset of their rows, and the recipe.

The subset is the first `rows` of a permutation that never changes (`ORDER_SEED`);
what is held out is the first `dev_rows` of the official development set. SQuAD's
training set could not be had, so its development set is split by article: the
questions to train on are drawn from the first articles, those to answer from the
last ones. So few questions give low scores, which are there to be compared.
"""

import dataclasses
from typing import Any

ORDER_SEED = 20
ENTITY_TYPES = ("PER", "ORG", "LOC", "MISC")
TAGS = ("O", *(f"{prefix}-{x}" for x in ENTITY_TYPES for prefix in "BI"))


@dataclasses.dataclass(frozen=True)
class Task:
    """A task; every side trains it so.

    Args:
        name: A key of `TASKS`.
        kind: `"class"`, `"number"`, `"tags"` or `"answer"`.
        files: Where the training and the development rows are.
        rows, dev_rows: How many of them; `None`: all.
        metrics: What `score` returns for it, the first counts most.
        labels: The names of the labels; empty for others than classifiers.
        text, text_pair, target: The columns of a table.
        highest: What a number is divided by, so that targets are in [0, 1].
        epochs, batch, rate: Passes over the rows, rows (windows) of a step, and
            the peak of the learning rate.
        length, stride: The most tokens of a row, and how many of them windows
            over a longer context share.
        held_out: The number of articles that are not trained on.
    """

    name: str
    kind: str
    files: tuple[str, str]
    rows: int | None
    metrics: tuple[str, ...]
    labels: tuple[str, ...] = ()
    text: str = ""
    text_pair: str | None = None
    target: str = ""
    highest: float = 1.0
    dev_rows: int | None = None
    epochs: int = 2
    batch: int = 32
    rate: float = 1e-4
    length: int = 128
    stride: int | None = None
    held_out: int = 0

    @property
    def outputs(self) -> int:
        """The width of the head: begin and end for answers."""
        return {"number": 1, "answer": 2}.get(self.kind, len(self.labels))

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Task":
        """Reads what JSON made of `to_dict()`."""
        lists = {k: tuple(v) for k, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **lists})


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What all tasks have in common."""

    dropout: float = 0.0
    warmup: float = 0.1  # share of the steps; then the rate falls to zero linearly
    weight_decay: float = 0.01  # not of biases and LayerNorm
    epsilon: float = 1e-8  # so small that it does not matter where it is added
    clip_norm: float = 1.0
    head_deviation: float = 0.02


def _glue(folder: str) -> tuple[str, str]:
    return f"glue/{folder}/train.tsv", f"glue/{folder}/dev.tsv"


TASKS = {
    task.name: task
    for task in (
        Task(
            "sst2",
            "class",
            _glue("SST-2"),
            rows=1600,
            metrics=("accuracy",),
            labels=("negative", "positive"),
            text="sentence",
            target="label",
            epochs=1,
        ),
        Task(
            "mrpc",
            "class",
            _glue("MRPC"),
            rows=960,
            batch=16,
            rate=2e-4,
            metrics=("accuracy", "f1"),
            labels=("different", "paraphrase"),
            text="#1 String",
            text_pair="#2 String",
            target="Quality",
        ),
        Task(
            "stsb",
            "number",
            _glue("STS-B"),
            rows=960,
            batch=16,
            rate=2e-4,
            metrics=("pearson", "spearman"),
            text="sentence1",
            text_pair="sentence2",
            target="score",
            highest=5.0,
        ),
        Task(
            "conll2003",
            "tags",
            ("conll2003/eng.train", "conll2003/eng.testa"),
            rows=640,
            metrics=("entity_f1",),
            labels=TAGS,
            dev_rows=400,
            batch=16,
            rate=2e-4,
        ),
        Task(
            "squad",
            "answer",
            ("squad/dev-v1.1.json", "squad/dev-v1.1.json"),
            rows=720,
            metrics=("f1", "exact"),
            dev_rows=600,
            batch=8,
            rate=2e-4,
            length=384,
            stride=128,
            held_out=12,
        ),
    )
}


def quick(task: Task) -> Task:
    """Returns a task of a few rows, to see whether everything runs."""
    return dataclasses.replace(task, rows=4 * task.batch, dev_rows=24)
