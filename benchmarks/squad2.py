"""Questions of which some have no answer: `kbl.finetune` beside transformers.

    python -m benchmarks.squad2 --data DATA [--rows 900] [--minutes 15]

Both fine-tune MiniLM on the same questions of SQuAD 2.0 and answer those of other
articles: its development set, split by article, as its training set could not be had.
transformers reads as many questions as `finetune`, in the plain loop of its example
script, with a rate twice as high as for one text, 8 windows a step. Without `--rows`
all questions are trained on, and transformers, which has no budget of time, is left
out with `--minutes`. Scores in percent: `F1, silent` is the F1 of questions with an
answer, at the greatest threshold with which 85 % of the others are left unanswered.
Each result is a line of `results/squad2.jsonl`, in which the next call goes on.
"""

import argparse
import dataclasses
import functools
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.recipes.log import Log
from keras_bert_lite.finetuning.spec import Spec, tunable_task
from keras_bert_lite.training.scores.squad import squad_scores

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results" / "squad2.jsonl"
PATH = Path("squad", "dev-v2.0.json")
ANSWERED = 0.15  # of the questions without an answer


def read(data: Path) -> tuple[list[Row], list[Row]]:
    """Splits the questions by article: every fifth article is for the test."""
    rows = list(kbl.data.read_squad(data / PATH, misplaced="find"))
    held = sorted({x["title"] for x in rows})[::5]
    return [x for x in rows if x["title"] not in held], [
        x for x in rows if x["title"] in held
    ]


def scores_of(rows: list[Row], best: Sequence[str], lacking: np.ndarray) -> Row:
    """Scores the best answers, where no answer is given above a threshold.

    Args:
        rows: The questions.
        best: The best answer to each.
        lacking: How sure the model is that there is none.
    """
    numbers = {x["id"]: float(score) for x, score in zip(rows, lacking, strict=True)}
    answers = {x["id"]: text for x, text in zip(rows, best, strict=True)}
    found = squad_scores(rows, answers, numbers)
    has = np.array([bool(x["answers"]["text"]) for x in rows])
    without = np.sort(np.asarray(lacking)[~has])
    threshold = without[int(ANSWERED * len(without))]
    given = {k: "" if numbers[k] >= threshold else x for k, x in answers.items()}
    silent = squad_scores(rows, given)
    return {
        "best_f1": found["best_f1"],
        "f1_of_spans": found["HasAns_f1"],
        "f1_silent": silent["HasAns_f1"],
        "silent": silent["NoAns_f1"],
    }


def tuned(train: list[Row], test: list[Row], seed: int, minutes: float | None) -> Row:
    began = time.monotonic(), time.process_time()
    made = kbl.finetune(
        "question_answering",
        train,
        encoder=minilm(),
        minutes=minutes,
        seed=seed,
        baseline=False,
        verbose=0,
    )
    times = _times(began)
    task = tunable_task("question_answering")
    answers = Spec(task, dict(task.columns)).answer(made.text_model, test)
    passes = made.report.recipe.epochs * (2 if made.report.refitted else 1)
    best, lacking = answers["answers"][:, 0], answers["no_answer_score"]
    scores = scores_of(test, best.tolist(), lacking)
    return {"scores": scores, **times, "epochs": passes}


def transformers(train: list[Row], test: list[Row], seed: int, epochs: int) -> Row:
    from benchmarks.finetuning.sides.torch_side import Transformers
    from benchmarks.finetuning.subset import orders
    from benchmarks.finetuning.tasks import TASKS, Recipe

    task = dataclasses.replace(TASKS["squad"], epochs=epochs)
    began = time.monotonic(), time.process_time()
    side = Transformers(task, Recipe(dropout=0.1), train, seed)
    side.prepare()
    for order in orders(len(train), epochs, seed):
        side.train(order, lambda: None)
    times = _times(began)
    best, lacking = zip(*side.answers_or_not(test), strict=True)
    scores = scores_of(test, best, np.array(lacking))
    return {"scores": scores, **times, "epochs": epochs}


def _times(began: tuple[float, float]) -> dict[str, float]:
    """Returns minutes since then, of the clock and of the cores that were there."""
    wall, cpu = time.monotonic() - began[0], time.process_time() - began[1]
    return {
        "minutes": round(wall / 60, 1),
        "cpu_minutes": round(cpu / 60, 1),
        "cores": len(os.sched_getaffinity(0)),
    }


def markdown(records: list[Row]) -> str:
    """Returns a table of the records."""

    def lines() -> Iterator[list[str]]:
        head = ["questions", "way", "seed", "passes", "F1, silent", "silent"]
        yield [*head, "F1 of spans", "best F1", "minutes", "cores"]
        for x in sorted(records, key=lambda x: (x["rows"], x["way"], x["seed"])):
            limit = "" if x["limit"] is None else f", minutes={x['limit']:g}"
            scores = (x["scores"][name] for name in NAMES)
            yield [
                str(x["rows"]),
                f"{x['way']}{limit}",
                str(x["seed"]),
                f"{x['epochs']:g}",
                *(f"{score:.1f}" for score in scores),
                f"{x['minutes']:.1f}",
                str(x["cores"]),
            ]

    head, *body = lines()
    parts = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in parts)


NAMES = ("f1_silent", "silent", "f1_of_spans", "best_f1")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.squad2")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--rows", type=int, help="questions; all by default")
    parser.add_argument("--minutes", type=float, help="the budget of `finetune`")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    every, test = read(options.data)
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(len(every))[: options.rows]
        train = [every[i] for i in order]
        key = {"rows": len(train), "seed": seed, "limit": options.minutes}
        given = (train, test, seed)
        make = functools.partial(tuned, *given, options.minutes)
        ours = log.once({**key, "way": "finetune"}, make)
        if options.minutes is None:
            peer = functools.partial(transformers, *given, round(ours["epochs"]))
            log.once({**key, "way": "transformers"}, peer)
    print(markdown(log.records))


if __name__ == "__main__":
    main()
