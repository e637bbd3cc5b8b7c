"""The command line; see the package's docstring."""

import argparse
import functools
import itertools
import json
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.recipes.log import Log
from benchmarks.recipes.sets import SETS, Row

WORKER = Path(__file__).parent / "setfit_worker.py"
RESULTS = Path(__file__).parents[1] / "results" / "few_labels.jsonl"
NAMES = ("sst2", "emotions", "snips")


def rows_of(name: str, data: Path) -> tuple[list[Row], list[Row]]:
    """Reads a set as texts with a label; of snips, the intents."""
    column = SETS[name].columns.get("text", "text")

    def converted(row: Row) -> Row:
        if name == "snips":
            return {"text": " ".join(row["words"]), "label": row["intent"]}
        return {"text": row[column], "label": str(row["label"])}

    train, test = SETS[name].read(data)
    return [*map(converted, train)], [*map(converted, test)]


def drawn(rows: list[Row], count: int, seed: int) -> list[Row]:
    """Returns some rows of each label."""
    by_label: dict[str, list[Row]] = defaultdict(list)
    for i in np.random.default_rng(seed).permutation(len(rows)):
        by_label[rows[i]["label"]].append(rows[i])
    return [row for label in sorted(by_label) for row in by_label[label][:count]]


def ours(train: list[Row], test: list[Row], seed: int) -> dict[str, Any]:
    began = time.process_time()
    options = {"encoder": minilm(), "seed": seed, "baseline": False, "verbose": 0}
    tuned = kbl.finetune("text_classification", train, **options)
    seconds = time.process_time() - began
    scores = kbl.evaluate(tuned.text_model, test)["scores"]
    return {"scores": scores, "cpu_seconds": seconds}


def setfit(train: list[Row], test: list[Row], seed: int, python: str) -> dict[str, Any]:
    job = {
        "model": str(minilm()),
        "texts": [x["text"] for x in train],
        "labels": [x["label"] for x in train],
        "tests": [x["text"] for x in test],
        "seed": seed,
    }
    ran = subprocess.run(
        [python, WORKER],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(ran.stdout)
    right = [a == x["label"] for a, x in zip(found["answers"], test, strict=True)]
    return {"scores": {"accuracy": mean(right)}, "cpu_seconds": found["cpu_seconds"]}


def table(records: list[dict[str, Any]]) -> str:
    lines = [
        "| set | rows a label | draws | finetune | SetFit | CPU time |",
        "|---" * 6 + "|",
    ]
    for name, count in sorted({(x["set"], x["a_label"]) for x in records}):
        sides = {
            way: {
                x["seed"]: x
                for x in records
                if (x["set"], x["a_label"], x["way"]) == (name, count, way)
            }
            for way in ("finetune", "setfit")
        }
        both = sides["finetune"].keys() & sides["setfit"].keys()
        if both:
            a, b = (
                100 * mean(sides[way][seed]["scores"]["accuracy"] for seed in both)
                for way in sides
            )
            ratio = mean(
                sides["finetune"][x]["cpu_seconds"] / sides["setfit"][x]["cpu_seconds"]
                for x in both
            )
            line = (name, count, len(both), f"{a:.1f}", f"{b:.1f}", f"{ratio:.2f} x")
            lines.append(f"| {' | '.join(map(str, line))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.few_labels")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--setfit", required=True, metavar="PYTHON")
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rows", nargs="+", type=int, default=[8, 64])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    read = functools.cache(lambda name: rows_of(name, options.data))
    cells = itertools.product(options.rows, range(options.draws), options.sets)
    for count, seed, name in cells:
        every, test = read(name)
        train = drawn(every, count, seed)
        key = {"set": name, "a_label": count, "seed": seed}
        given = (train, test, seed)
        log.once({**key, "way": "finetune"}, functools.partial(ours, *given))
        make = functools.partial(setfit, *given, options.setfit)
        log.once({**key, "way": "setfit"}, make)
    print(table(log.records))


if __name__ == "__main__":
    main()
