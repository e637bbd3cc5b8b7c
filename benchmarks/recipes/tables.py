"""Tables of the results: scores, what the report would compare, and the recipes."""

from collections.abc import Callable, Iterator
from statistics import mean, median
from typing import Any

from benchmarks.recipes.sets import SETS, SEVERAL
from keras_bert_lite.finetuning.spec import TUNABLE

Records = list[dict[str, Any]]
Column = tuple[str, str]  # a way and its encoder, or ""
CHOSEN = ("epochs", "batch", "rate", "threshold")
PAGE = """# From few and many rows

Scores in percent, on the development set (CoNLL-2003, its chunks and parts of speech,
and kinds: eng.testb; tweet emotions, snips and slots: the test set; topics: every fifth
question; answers and sentences: the last fifth, of other articles but for one).
Training halves of chunks and pos decided only on the rate of taggers, of answers and
sentences on how texts are compared (`benchmarks.recipe_choices`). Each is the mean over
the seeds, whose number is in brackets. `finetune` is `kbl.finetune` as it comes;
`plain` the same encoder, which reads as many rows, 32 a step, with a random head at one
rate and tags as they come; `plain_twice` twice as many rows; `simple` the best of the
report's simple models; `vectors` a linear model of MiniLM's vectors. Made by
`python -m benchmarks.recipes --data DATA`. A rule that has left the recipe, learning
from pairs of texts ([ablation](ablation.md)), had decided 15 runs, which were run again
without it. So was `finetune` of MiniLM with the present code: three draws of 64 rows
(emotions: ten), the first one or two of 500, and one of 2,000 and of 6,000 (snips:
two). These took the place of the old runs, from which they differ, in the mean of the
sets, by -0.03 points at 64 rows, +0.11 at 500, -0.02 at 2,000 and -0.22 at 6,000.

{scores}

## Differences

{differences}

## What `kbl.finetune` chose

Means over the seeds; minutes of CPU, of all threads, from rows to the string-in model.
Machines were of different speed, so the minutes of two lines may not be comparable.

{recipes}
"""


def page(records: Records) -> str:
    """Returns the page, in Markdown."""
    return PAGE.format(
        scores=_table(_scores(records)),
        differences=_table(_differences(records)),
        recipes=_table(_recipes(records)),
    )


def metric_of(name: str) -> str:
    return SETS[name].metric or TUNABLE[SETS[name].task].scorer.metrics[0]


def _cells(records: Records) -> list[tuple[str, int]]:
    sets = list(SETS)
    found = {(x["set"], x["rows"]) for x in records}
    return sorted(found, key=lambda x: (x[1], sets.index(x[0])))


def _columns(records: Records) -> list[Column]:
    return sorted({(x["way"], x.get("encoder", "")) for x in records})


def _of(records: Records, name: str, rows: int, column: Column) -> Records:
    key = {"set": name, "rows": rows, "way": column[0]}
    return [
        x
        for x in records
        if key.items() <= x.items() and x.get("encoder", "") == column[1]
    ]


def _values(records: Records, metric: str) -> dict[int, float]:
    """Returns the scores in percent by seed."""
    return {x["seed"]: 100 * x["scores"][metric] for x in records}


def _scores(records: Records) -> Iterator[list[str]]:
    columns = _columns(records)
    yield ["set", "score", "rows", *(f"{a} {b}".strip() for a, b in columns)]
    for name, rows in _cells(records):
        metric = metric_of(name)
        line = [name, metric, str(rows)]
        for column in columns:
            found = _values(_of(records, name, rows, column), metric)
            line.append(f"{mean(found.values()):.1f} ({len(found)})" if found else "")
        yield line


def _differences(records: Records) -> Iterator[list[str]]:
    """Compares `finetune` with each other way, on the seeds that both have."""
    yield ["encoder", "rows", "beside", "scores", "mean", "median", "worst"]
    budgets = sorted({x["rows"] for x in records})
    for way, encoder in _columns(records):
        if way != "finetune":
            continue
        for rows in budgets:
            for other in (
                ("plain", encoder),
                ("plain_twice", encoder),
                ("simple", ""),
                ("vectors", ""),
            ):
                found = _compared(records, rows, ("finetune", encoder), other)
                if found:
                    worst = min(found, key=found.__getitem__)
                    yield [
                        encoder,
                        str(rows),
                        other[0],
                        str(len(found)),
                        f"{mean(found.values()):+.1f}",
                        f"{median(found.values()):+.1f}",
                        f"{worst} {found[worst]:+.1f}",
                    ]


def _compared(
    records: Records, rows: int, ours: Column, theirs: Column
) -> dict[str, float]:
    """Returns the mean difference by set; of many labels also that of macro F1."""
    found = {}
    for name in SETS:
        metrics = {name: metric_of(name)}
        if SETS[name].task == SEVERAL:
            metrics[f"{name}, macro F1"] = "macro_f1"
        for shown, metric in metrics.items():
            a, b = (
                _values(_of(records, name, rows, x), metric) for x in (ours, theirs)
            )
            if both := a.keys() & b.keys():
                found[shown] = mean(a[seed] - b[seed] for seed in both)
    return found


def _recipes(records: Records) -> Iterator[list[str]]:
    yield ["set", "rows", "encoder", *CHOSEN, "CPU min", "score"]
    for name, rows in _cells(records):
        for way, encoder in _columns(records):
            if way != "finetune":
                continue
            found = _of(records, name, rows, (way, encoder))
            if found:
                scores = _values(found, metric_of(name)).values()
                yield [
                    *(name, str(rows), encoder),
                    *_chosen(found),
                    f"{mean(scores):.1f}",
                ]


def _chosen(records: Records) -> list[str]:
    def average(get: Callable[[dict[str, Any]], float]) -> float:
        return mean(get(x) for x in records)

    recipe = records[0]["recipe"]
    thresholds = [value for x in records for value in x["options"].values()]
    return [
        f"{average(lambda x: x['recipe']['epochs']):.3g}",
        str(recipe["batch_size"]),
        f"{recipe['learning_rate']:.1e}",
        f"{mean(thresholds):.2f}" if thresholds else "",
        f"{average(lambda x: x['cpu_seconds']) / 60:.1f}",
    ]


def _table(lines: Iterator[list[str]]) -> str:
    head, *body = lines
    parts = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in parts)
