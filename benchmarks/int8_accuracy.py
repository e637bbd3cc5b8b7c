"""Scores of fine-tuned models whose encoder multiplies in int8.

    python -m benchmarks.int8_accuracy --data DATA

fine-tunes MiniLM by `kbl.finetune` on five data sets, on 6,000 rows at most, and scores
each model in float32 and in int8, by the operations of `export_saved_model(int8=True)`,
calibrated on 300 of its own training texts and on 300 of another set's (SST-2's; for
SST-2, STS-B's). SQuAD's development set is cut by article: 2,000 questions of one half
are learned, 2,000 of the other are held out. Models stay in `--work`, results in
`results/int8_accuracy.json`; both are used again by the next call.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.environment import environment
from benchmarks.inference.models import minilm
from benchmarks.recipes.sets import SETS, Row, Set
from keras_bert_lite.finetuning.rows import read_rows
from keras_bert_lite.finetuning.saved_run import load_run
from keras_bert_lite.finetuning.spec import (
    TUNABLE,
    Spec,
    labels_of,
    named_columns,
    tunable_task,
)
from keras_bert_lite.serving.saved_model.int8.encoder import int8_model
from keras_bert_lite.tasks.text_model import model_on_ids
from keras_bert_lite.tasks.text_parts import preprocessor_of

RESULTS = Path(__file__).parent / "results" / "int8_accuracy.json"
CALIBRATION, QUESTIONS = 300, 2000


def squad(data: Path) -> tuple[list[Row], list[Row]]:
    rows = list(kbl.data.read_squad(data / "squad" / "dev-v1.1.json", misplaced="find"))
    titles = sorted({row["title"] for row in rows})
    learned = set(titles[::2])
    train, test = [], []
    for row in rows:
        (train if row["title"] in learned else test).append(row)
    kept = np.random.default_rng(0).permutation(len(test))[:QUESTIONS]
    return train, [test[i] for i in sorted(kept)]


ROWS = {"sst2": 6000, "mrpc": 6000, "stsb": 6000, "conll2003": 6000, "squad": 2000}
ALL = {**SETS, "squad": Set("question_answering", squad, {})}


def some(rows: list[Row], count: int) -> list[Row]:
    order = np.random.default_rng(0).permutation(len(rows))[:count]
    return [rows[i] for i in order]


def rows_of(name: str, rows: list[Row]) -> tuple[Spec, list[Row]]:
    task = tunable_task(ALL[name].task)
    named = named_columns(task, ALL[name].columns)
    read, known = read_rows(rows, task.fine_tuning.rows, named, "rows")
    return Spec(task, known), list(read)


def texts_of(name: str, rows: list[Row]) -> list[str]:
    spec, rows = rows_of(name, some(rows, CALIBRATION))
    columns = spec.texts(rows).values()
    found = [x if isinstance(x, str) else " ".join(x) for c in columns for x in c]
    return some(found, CALIBRATION)


def trained(name: str, rows: list[Row], work: Path) -> kbl.TextModel:
    this = ALL[name]
    if not (work / name / "model.keras").exists():
        kbl.finetune(
            this.task,
            some(rows, ROWS[name]),
            encoder=minilm(),
            directory=work / name,
            columns=this.columns,
            baseline=False,
            verbose=2,
        )
    return load_run(work / name).model


def scores(name: str, model: Any, rows: list[Row], texts: list[str] | None) -> dict:
    """Returns the scores; in int8 if there are texts to calibrate it."""
    spec, rows = rows_of(name, rows)
    if texts is not None:
        model, *_ = int8_model(model, texts)
    body = model_on_ids(model)
    answers = spec.answer(spec.scored_model(body, preprocessor_of(model)), rows)
    return spec.scorer.scores(rows, answers, labels_of(body, spec.task))


def measure(name: str, data: Path, work: Path) -> dict[str, Any]:
    train, test = ALL[name].read(data)
    other = "stsb" if name == "sst2" else "sst2"
    others = ALL[other].read(data)[0]
    model = trained(name, train, work)
    return {
        "float32": scores(name, model, test, None),
        "int8": scores(name, model, test, texts_of(name, train)),
        "int8, another set's texts": scores(name, model, test, texts_of(other, others)),
    }


def markdown(data: dict[str, Any]) -> str:
    lines = ["| | score | float32 | int8 | calibrated on another set's texts |"]
    lines.append("|---|---|---|---|---|")
    for name, sides in data["sets"].items():
        metric = TUNABLE[ALL[name].task].scorer.metrics[0]
        cells = [f"{100 * x[metric]:.2f}" for x in sides.values()]
        lines.append(f"| {name} | {metric} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.int8_accuracy")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--work", type=Path, default=Path("build/int8_accuracy"))
    parser.add_argument("--sets", nargs="+", choices=ROWS, default=[*ROWS])
    options = parser.parse_args()
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"sets": {}}
    for name in options.sets:
        if name not in record["sets"]:
            record["sets"][name] = measure(name, options.data, options.work)
            record["environment"] = environment()
            RESULTS.write_text(json.dumps(record, indent=1) + "\n")
            print(name, record["sets"][name], flush=True)
    print(markdown(record))


if __name__ == "__main__":
    main()
