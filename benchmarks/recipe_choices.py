"""What constants of `kbl.finetune` were chosen by: its scores with other values.

    python -m benchmarks.recipe_choices --data DATA --sets chunks --rates 1 2

trains on rows of a set's training half and scores up to 1,500 others of that half, so
that the scores of `benchmarks.recipes` decide nothing. The constants are a task's
multiples of the rate and of the epochs, and what the logits of a linear model are
divided by; `--pairs together apart` shows how texts are read best. Each result is a
line of `results/recipe_choices.jsonl`, in which the next call goes on.
"""

import argparse
import contextlib
import functools
import itertools
import operator
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.inference.tables import table
from benchmarks.recipes.log import Log
from benchmarks.recipes.sets import SETS, Row
from benchmarks.recipes.tables import metric_of
from benchmarks.recipes.ways import RATES, tuned
from keras_bert_lite.finetuning.decide import PAIRS
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.spec import TUNABLE

RESULTS = Path(__file__).parent / "results" / "recipe_choices.jsonl"
SCORED = 1500
CHOICES = ("rate", "epochs", "softness")
COLUMNS = ("set", "rows", "encoder", *CHOICES, "pairs")


@contextlib.contextmanager
def replaced(numbers: Any, **others: Any) -> Iterator[None]:
    """Gives a frozen dataclass, which many modules have imported, other values."""
    own = {name: getattr(numbers, name) for name in others}
    try:
        for name, value in others.items():
            object.__setattr__(numbers, name, value)
        yield
    finally:
        for name, value in own.items():
            object.__setattr__(numbers, name, value)


@contextlib.contextmanager
def constants(task: str, rate: float, epochs: float, softness: float) -> Iterator[None]:
    """Gives `kbl.finetune` other constants."""
    with (
        replaced(TUNABLE[task], rate=rate, epochs=epochs),
        replaced(RECIPE, softness=softness),
    ):
        yield


def markdown(records: list[dict[str, Any]]) -> str:
    """Returns the mean scores of the seeds, in percent, in Markdown."""
    lines = []
    key = operator.itemgetter(*COLUMNS)
    for values, found in itertools.groupby(sorted(records, key=key), key):
        scores = [100 * x["scores"][metric_of(values[0])] for x in found]
        cells = [f"{x:g}" if isinstance(x, float) else str(x) for x in values]
        lines.append([*cells, str(len(scores)), f"{mean(scores):.1f}"])
    return table([*COLUMNS, "seeds", "score"], lines)


def split(every: list[Row], rows: int, seed: int) -> tuple[list[Row], list[Row]]:
    """Returns rows to train on, and others to score."""
    order = np.random.default_rng(seed).permutation(len(every))
    train, test = order[:rows], order[rows:][-SCORED:]
    return [every[i] for i in train], [every[i] for i in test]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipe_choices")
    parser.add_argument("--data", type=Path, required=True, help="the data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, required=True)
    parser.add_argument("--rows", nargs="+", type=int, default=[64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100])
    parser.add_argument("--encoders", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--rates", nargs="+", type=float, help="the task's own")
    parser.add_argument("--epochs", nargs="+", type=float, help="the task's own")
    softness = [RECIPE.softness]
    parser.add_argument("--softness", nargs="+", type=float, default=softness)
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=["auto"])
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    for name in options.sets:
        compare(log, name, SETS[name].read(options.data)[0], options)
    print(markdown(log.records))


def compare(log: Log, name: str, every: list[Row], options: Any) -> None:
    """Scores all constants on rows of a set."""
    this = SETS[name]
    rates = options.rates or [float(TUNABLE[this.task].rate)]
    epochs = options.epochs or [float(TUNABLE[this.task].epochs)]
    runs = itertools.product(options.rows, options.seeds, options.encoders)
    for rows, seed, encoder in runs:
        train, test = split(every, rows, seed)
        key = {"set": name, "rows": rows, "seed": seed, "encoder": encoder}
        choices = itertools.product(rates, epochs, options.softness, options.pairs)
        for *values, pairs in choices:
            make = functools.partial(tuned, this, train, test, encoder, seed, pairs)
            chosen = dict(zip(CHOICES, values, strict=True))
            with constants(this.task, *values):
                log.once({**key, **chosen, "pairs": pairs}, make)


if __name__ == "__main__":
    main()
