"""What `kbl.finetune` reaches with few and many rows, beside simpler ways.

    python -m benchmarks.recipes --data DATA

For each set, number of rows, seed and encoder it scores, on the development or test
set: `finetune`; plain fine-tuning (a random head, the rates of `benchmarks.encoders`),
which reads as many rows (`plain`) or twice as many (`plain_twice`); logistic regression
on TF-IDF; and a linear model of MiniLM's vectors (of a pair: u, v, |u - v| and u v).
Each chooses by rows held out of the training rows.
Each result is a line of `results/recipes.jsonl`, in which the next call goes on;
`results/recipes.md` has the tables. `--tables` only writes these.
"""

import argparse
import functools
import hashlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recipes.log import Log
from benchmarks.recipes.sets import SETS, Row
from benchmarks.recipes.tables import page
from benchmarks.recipes.ways import (
    BATCH,
    RATES,
    WAYS,
    checkpoint,
    plain,
    simple,
    tuned,
    vectors,
)
from keras_bert_lite.checkpoints.sources import resolve

FEW = 64
RESULTS = Path(__file__).parents[1] / "results" / "recipes.jsonl"


def digest(encoder: str) -> str:
    """Tells one state of an encoder from another."""
    weights = resolve(checkpoint(encoder)) / "model.safetensors"
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:12]


def cells(options: argparse.Namespace) -> Iterator[tuple[int, int, str]]:
    for rows in options.rows:
        count = options.draws if rows == FEW else options.seeds
        yield from itertools.product([rows], range(count), options.sets)


def run(
    log: Log, name: str, train: list[Row], test: list[Row], seed: int, options: Any
) -> None:
    """Scores all ways on the same rows."""
    this, key = SETS[name], {"set": name, "rows": len(train), "seed": seed}
    if "simple" in options.ways:
        log.once({**key, "way": "simple"}, functools.partial(simple, this, train, test))
    if "vectors" in options.ways:
        make = functools.partial(vectors, this, train, test, "MiniLM", seed)
        log.once({**key, "way": "vectors"}, make)
    for encoder in options.encoders:
        own = {**key, "encoder": encoder, "weights": digest(encoder)}
        given = (this, train, test, encoder, seed)
        ours = log.once({**own, "way": "finetune"}, functools.partial(tuned, *given))
        for way, times in (("plain", 1), ("plain_twice", 2)):
            if way in options.ways and ours is not None:
                steps = times * ours["rows_read"] // BATCH
                log.once({**own, "way": way}, functools.partial(plain, *given, steps))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipes")
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", nargs="+", type=int, default=[FEW, 500, 2000, 6000])
    parser.add_argument("--encoders", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10, help="seeds at 64 rows")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    if not options.tables:
        read = functools.cache(lambda name: SETS[name].read(options.data))
        for rows, seed, name in cells(options):
            every, test = read(name)
            if len(every) >= rows:
                order = np.random.default_rng(seed).permutation(len(every))[:rows]
                run(log, name, [every[i] for i in order], test, seed, options)
    options.results.with_suffix(".md").write_text(page(log.records))


if __name__ == "__main__":
    main()
