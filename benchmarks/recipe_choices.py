"""What constants of `kbl.finetune` were chosen by: its scores with other values.

    python -m benchmarks.recipe_choices --data DATA --sets chunks --rates 1 2

trains on rows of a set's training half, and scores 1,500 others of the same half, so
that the rows of `benchmarks.recipes` decide nothing. The constants are a task's
multiples of the rate and of the epochs, and what the logits of a linear model are
divided by. Each result is a line of `results/recipe_choices.jsonl`, in which the next
call goes on.
"""

import argparse
import contextlib
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.recipes.log import Log
from benchmarks.recipes.sets import SETS
from benchmarks.recipes.tables import metric_of
from benchmarks.recipes.ways import RATES, tuned
from keras_bert_lite.finetuning.course import trainer
from keras_bert_lite.finetuning.kinds import KINDS

RESULTS = Path(__file__).parent / "results" / "recipe_choices.jsonl"
SCORED = 1500
CHOICES = ("rate", "epochs", "softness")
COLUMNS = ("set", "rows", "encoder", *CHOICES)


@contextlib.contextmanager
def constants(task: str, rate: float, epochs: float, softness: float) -> Iterator[None]:
    """Gives `kbl.finetune` other constants."""
    with (
        mock.patch.object(KINDS[task], "rate", rate),
        mock.patch.object(KINDS[task], "epochs", epochs),
        mock.patch.object(trainer, "SOFTNESS", softness),
    ):
        yield


def markdown(records: list[dict[str, Any]]) -> str:
    """Returns the mean scores of the seeds, in percent, in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} | seeds | score |", "|---" * 8 + "|"]
    key = lambda x: tuple(x[name] for name in COLUMNS)  # noqa: E731
    for values, found in itertools.groupby(sorted(records, key=key), key):
        scores = [100 * x["scores"][metric_of(values[0])] for x in found]
        cells = [*(f"{x:g}" if isinstance(x, float) else str(x) for x in values)]
        lines.append(f"| {' | '.join(cells)} | {len(scores)} | {mean(scores):.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipe_choices")
    parser.add_argument("--data", type=Path, required=True, help="the data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, required=True)
    parser.add_argument("--rows", nargs="+", type=int, default=[64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100])
    parser.add_argument("--encoders", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--rates", nargs="+", type=float, help="the task's own")
    parser.add_argument("--epochs", nargs="+", type=float, help="the task's own")
    own = trainer.SOFTNESS
    parser.add_argument("--softness", nargs="+", type=float, default=[own])
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    for name, rows, seed, encoder in itertools.product(
        options.sets, options.rows, options.seeds, options.encoders
    ):
        this = SETS[name]
        every, _ = this.read(options.data)
        order = np.random.default_rng(seed).permutation(len(every))
        train, test = ([every[i] for i in x] for x in (order[:rows], order[-SCORED:]))
        kind = KINDS[this.task]
        key = {"set": name, "rows": rows, "seed": seed, "encoder": encoder}
        rates = options.rates or [float(kind.rate)]
        epochs = options.epochs or [float(kind.epochs)]
        for values in itertools.product(rates, epochs, options.softness):
            with constants(this.task, *values):
                make = functools.partial(tuned, this, train, test, encoder, seed)
                log.once({**key, **dict(zip(CHOICES, values, strict=True))}, make)
    print(markdown(log.records))


if __name__ == "__main__":
    main()
