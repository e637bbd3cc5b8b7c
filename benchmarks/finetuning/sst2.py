"""SST-2 as `benchmarks.forms_sst2` reads it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

BATCH = 32
Labelled = tuple[list[str], np.ndarray]


def read(path: Path, rows: int | None = None) -> Labelled:
    """Returns the first texts and labels of a file."""
    from keras_bert_lite.training.data import read_csv

    records = list(read_csv(path, converters={"label": int}))[:rows]
    labels = np.array([record["label"] for record in records], np.int32)
    return [record["sentence"] for record in records], labels


def batches(
    texts: list[str], labels: np.ndarray, seed: int, epochs: int
) -> Iterator[Labelled]:
    """Yields the batches of so many epochs, each in an order of its own."""
    rng = np.random.default_rng(seed)
    for _ in range(epochs):
        order = rng.permutation(len(texts))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            yield [texts[i] for i in rows], labels[rows]
