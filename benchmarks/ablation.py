"""What each rule of `kbl.finetune` is worth: its scores without one of them.

    python -m benchmarks.ablation --data DATA

fine-tunes MiniLM on rows of a set's training half, with all rules and without each
group of them in turn, from the same rows and seeds, and scores 1,000 others of that
half, so that the scores of `benchmarks.recipes` decide nothing. A group that made no
difference to a run gains nothing there. Each result is a line of
`results/ablation.jsonl`, in which the next call goes on; `--table` only prints what the
groups gain. A group stays in the recipe if it gains 0.3 points and a standard error, or
2 points on a set. One has left it, and only its records remain: learning from pairs of
texts where labels have few rows ("pairs of texts").
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from unittest import mock

import keras_bert_lite as kbl
from benchmarks.inference.tables import table
from benchmarks.recipe_choices import replaced, split
from benchmarks.recipes.log import Log
from benchmarks.recipes.sets import SETS
from benchmarks.recipes.tables import metric_of
from benchmarks.recipes.ways import tuned
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.run import Run
from keras_bert_lite.finetuning.selection import Selection
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.finetuning.trainer import Trainer
from keras_bert_lite.tasks.task import FineTuning

RESULTS = Path(__file__).parent / "results" / "ablation.jsonl"
SCORED = 1000
ALL, SECOND_FIT = "all rules", "second fit"
CHOSEN = (
    *("emotions", "cola", "kinds", "conll2003", "snips"),
    *("answers", "stsb", "sentences"),
)


@dataclasses.dataclass(frozen=True)
class Group:
    """Rules that are left out together.

    Args:
        without: What has other values then.
        applied: Whether they made a difference to a run with all rules, given its task
            and its record; where they did not, they gain nothing.
    """

    without: Callable[[], list[contextlib.AbstractContextManager]]
    applied: Callable[[FineTuning, dict[str, Any]], bool] = lambda task, run: True


def recipe(**numbers: Any) -> Callable[[], list[contextlib.AbstractContextManager]]:
    return lambda: [replaced(RECIPE, **numbers)]


def random_heads() -> list[contextlib.AbstractContextManager]:
    return [mock.patch.object(Trainer, "starts_linear", False)]


def never_linear() -> list[contextlib.AbstractContextManager]:
    best = property(lambda self: self._tuned())
    return [mock.patch.object(Selection, "best", best)]


def same_for_all() -> list[contextlib.AbstractContextManager]:
    return [replaced(task, epochs=1, rate=1.0) for task in TUNABLE.values()]


GROUPS = {
    "linear start": Group(random_heads),
    "softening": Group(
        recipe(softness=1.0),
        lambda task, run: task.softened and not run["apart"] and run["best"] > 0,
    ),
    "pairs of texts": Group(list, lambda task, run: run.get("contrasted", False)),
    "linear model kept": Group(
        never_linear, lambda task, run: run["best"] == 0 and run["recipe"]["steps"] > 0
    ),
    "read apart": Group(list, lambda task, run: run["apart"]),
    "multiples": Group(
        same_for_all,
        lambda task, run: (task.epochs, task.rate) != (1, 1.0) and run["best"] > 0,
    ),
    "small batches": Group(
        recipe(small_batch=RECIPE.batch),
        lambda task, run: (
            run["best"] > 0 and run["recipe"]["batch_size"] != RECIPE.batch
        ),
    ),
}
# What gained too little and is gone: the records keep what it was worth.
GONE = ("pairs of texts",)


@contextlib.contextmanager
def without(group: str) -> Iterator[None]:
    """Leaves out a group of rules."""
    with contextlib.ExitStack() as stack:
        for change in GROUPS[group].without() if group != ALL else ():
            stack.enter_context(change)
        yield


def score(
    name: str, rows: int, seed: int, group: str, data: Path
) -> dict[str, Any] | None:
    """Fine-tunes without a group of rules, and scores other rows.

    The result has the scores before the second fit too: `before`.
    """
    this, before = SETS[name], {}
    train, test = split(_rows(name, data), rows, seed)
    test = test[-SCORED:]
    again = Run.train_on_all

    def scored(self: Run, training: Any, judgement: Any) -> Any:
        if self.refits and group == ALL:
            trainer = self.trainer
            model = trainer.spec.string_model(
                trainer.model, trainer.preprocessor, **judgement.options
            )
            before.update(kbl.evaluate(model, test, this.columns)["scores"])
        return again(self, training, judgement)

    with mock.patch.object(Run, "train_on_all", scored), without(group):
        pairs = "together" if group == "read apart" else "auto"
        found = tuned(this, train, test, "MiniLM", seed, pairs)
    return {**found, "before": before}


@functools.cache
def _rows(name: str, data: Path) -> list:
    return SETS[name].read(data)[0]


def gains(records: list[dict[str, Any]]) -> Iterator[tuple[str, str, int, float]]:
    """Yields group, set, rows and what the group adds to a score, in points."""
    key = operator.itemgetter("set", "rows", "seed", "group")
    of = {key(x): x for x in records}
    for (name, rows, seed, group), whole in of.items():
        if group != ALL:
            continue
        metric = metric_of(name)
        with_all = whole["scores"][metric]
        if whole["before"]:
            yield SECOND_FIT, name, rows, 100 * (with_all - whole["before"][metric])
        for other in GROUPS:
            without = of.get((name, rows, seed, other))
            if without:
                yield other, name, rows, 100 * (with_all - without["scores"][metric])
            elif not applies(other, whole):
                yield other, name, rows, 0.0


def applies(group: str, whole: dict[str, Any]) -> bool:
    """Whether a group made a difference to a run with all rules."""
    return GROUPS[group].applied(TUNABLE[SETS[whole["set"]].task], whole)


def markdown(records: list[dict[str, Any]]) -> str:
    """Returns what each group gains, on average and on each set, in Markdown."""
    lines = []
    found = sorted(gains(records), key=lambda x: (x[0], x[2]))
    for (group, rows), each in itertools.groupby(found, lambda x: (x[0], x[2])):
        values = [(name, gain) for _, name, _, gain in each]
        every = [gain for _, gain in values]
        error = stdev(every) / math.sqrt(len(every)) if len(every) > 1 else math.nan
        by_set = [
            f"{name} {mean(gain for x, gain in values if x == name):+.1f}"
            for name in CHOSEN
            if any(x == name for x, _ in values)
        ]
        cells = [group, str(rows), str(len(every)), f"{mean(every):+.2f}"]
        lines.append([*cells, f"{error:.2f}", ", ".join(by_set)])
    head = ["without", "rows", "runs", "gain", "standard error", "by set"]
    return table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation")
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--table", action="store_true", help="only print the table")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=CHOSEN)
    parser.add_argument("--rows", nargs="+", type=int, default=[64, 500])
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102])
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    runs = itertools.product(options.rows, options.seeds, options.sets)
    for rows, seed, name in () if options.table else runs:
        key = {"set": name, "rows": rows, "seed": seed}
        make = functools.partial(score, name, rows, seed, data=options.data)
        whole = log.once({**key, "group": ALL}, functools.partial(make, ALL))
        assert whole is not None
        for group in options.groups:
            if group not in GONE and applies(group, whole):
                log.once({**key, "group": group}, functools.partial(make, group))
    print(markdown(log.records))


if __name__ == "__main__":
    main()
