"""Answer sentence selection: which sentences answer a question of TREC-QA.

    python -m benchmarks.answer_selection --data FOLDER [--seeds 3]

FOLDER holds `train.csv`, `dev.csv` and `test.csv` of github.com/brmson/dataset-sts,
`data/anssel/wang`: the set of Wang et al. (2007) as Yao et al. (2013) cut it, a line a
candidate (`qtext`, `label`, `atext`). MiniLM is trained by `kbl.finetune("ranking")` on
the 78 questions of the judged training part that have right and wrong candidates, and
chosen by the development part.
Scored are the 68 such test questions, with 1,442 candidates,
as in the "clean" form of the set (Rao et al., 2016). Each result is a line of
`results/answer_selection.jsonl`, in which the next call goes on.
"""

import argparse
import functools
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.inference.tables import table
from benchmarks.recipes.log import Log

RESULTS = Path(__file__).parent / "results" / "answer_selection.jsonl"
METRICS = ("map", "mrr@10", "accuracy@1")
# What others reported, trained on `train-all` with 1,229 questions, which is not judged
# by hand, or on more: (name, MAP, MRR, source).
PUBLISHED = (
    ("attention and CNN, best of 2016", 0.771, 0.845, "Wang et al., 2016"),
    ("RoBERTa-large, ASNQ first", 0.943, 0.974, "arXiv:1911.04118"),
)
Result = dict[str, Any]
Lists = list[dict[str, Any]]


def lists(path: Path) -> Lists:
    """Returns the questions that have right and wrong candidates."""
    found: dict[str, Any] = defaultdict(lambda: {"candidates": [], "grades": []})
    for row in kbl.data.read_csv(path):
        found[row["qtext"]]["candidates"].append(row["atext"])
        found[row["qtext"]]["grades"].append(float(row["label"]))
    return [
        {"query": query, **x}
        for query, x in found.items()
        if {0.0, 1.0} <= set(x["grades"])
    ]


def trained(train: Lists, dev: Lists, test: Lists, seed: int) -> Result:
    tuned = kbl.finetune(
        "ranking", train, dev, minilm(), baseline=False, seed=seed, verbose=0
    )
    found = kbl.evaluate(tuned.text_model, test)
    kept = ("rows", "scores", "intervals", "baselines")
    return {**{x: found[x] for x in kept}, "minutes": tuned.report.minutes}


def markdown(records: list[Result]) -> str:
    lines = [[name, f"{a:.1%}", f"{b:.1%}", "", x] for name, a, b, x in PUBLISHED]
    ours = "this package"
    ways = [("BM25", [records[0]["baselines"]["BM25"]])] if records else []
    for name, scores in [*ways, ("MiniLM", [x["scores"] for x in records])]:
        cells = [f"{mean(x[metric] for x in scores):.1%}" for metric in METRICS]
        lines.append([name, *cells, f"{ours}, mean of {len(scores)}"])
    return table(["", *METRICS, "source"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answer_selection")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    parts = [lists(options.data / f"{part}.csv") for part in ("train", "dev", "test")]
    for seed in range(options.seeds):
        log.once({"seed": seed}, functools.partial(trained, *parts, seed))
    print(markdown(log.records))


if __name__ == "__main__":
    main()
