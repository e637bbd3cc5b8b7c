"""Ways to learn a task from rows; each returns its scores on the test rows.

Times are seconds of CPU, of all threads, which other load changes little.
"""

import dataclasses
import time
from typing import Any

import keras
import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.recipes.sets import CLASSES, SEVERAL, Row, Set
from keras_bert_lite.finetuning.rows import ordered, read_rows, split
from keras_bert_lite.finetuning.spec import Spec, named_columns, tunable_task
from keras_bert_lite.training.data.records import Records
from keras_bert_lite.training.data.row_formats import Rows
from keras_bert_lite.training.scores.texts import indicators, targets

RATES = {"bert_mini_books": 3e-4, "MiniLM": 1e-4}
BATCH = 32  # of plain fine-tuning
STRENGTHS = (1.0, 3.0, 10.0)
WAYS = ("finetune", "plain", "plain_twice", "simple", "vectors")


def checkpoint(encoder: str) -> Any:
    return minilm() if encoder == "MiniLM" else encoder


def tuned(
    this: Set,
    train: list[Row],
    test: list[Row],
    encoder: str,
    seed: int,
    pairs: str = "auto",
):
    began = time.process_time()
    found = kbl.finetune(
        this.task,
        train,
        encoder=checkpoint(encoder),
        columns=this.columns,
        seed=seed,
        pairs=pairs,
        baseline=False,
        verbose=0,
    )
    seconds = time.process_time() - began
    report = found.report
    scores = kbl.evaluate(found.text_model, test, this.columns)["scores"]
    read = report.recipe.steps * report.recipe.batch_size
    return {
        "scores": scores,
        "cpu_seconds": round(seconds),
        "rows_read": read * (2 if report.refitted else 1),
        "best": report.best,
        "held_out": report.scores,
        "recipe": dataclasses.asdict(report.recipe),
        "apart": report.apart,
        "options": report.options,
    }


def rows_of(this: Set, train: list[Row], test: list[Row]) -> tuple[Spec, Rows, Rows]:
    """Returns the task with all labels, and the rows as they are trained on."""
    task = tunable_task(this.task)
    spec = Spec(task, named_columns(task, this.columns))
    rows, known = read_rows(train, spec.format, spec.columns, "train")
    tests, _ = read_rows(test, spec.format, known, "test")
    labels = spec.format.all_labels([*rows, *tests])
    return dataclasses.replace(spec, columns=known, labels=labels), rows, tests


def plain(
    this: Set, train: list[Row], test: list[Row], encoder: str, seed: int, steps: int
):
    """Fine-tunes as at first: a random head, one rate, all rows, tags as they come."""
    keras.utils.set_random_seed(seed)
    began = time.process_time()
    spec, rows, tests = rows_of(this, train, test)
    source = checkpoint(encoder)
    preprocessor = kbl.load_preprocessor(source, sequence_length=128)
    model = spec.build(kbl.load_encoder(source, pooling=None))
    stream = Records(lambda: ordered(rows, spec.format, BATCH, seed))
    data = spec.data_set(stream, preprocessor, batch_size=BATCH, check=False)
    kbl.compile(model, steps=steps, learning_rate=RATES[encoder])
    model.fit(data, steps_per_epoch=steps, verbose=0)
    seconds = time.process_time() - began
    kept = spec.fine_tuning.kept_options
    lenient = {"decoding": "lenient"} if "decoding" in kept else {}
    made = spec.scored_model(model, preprocessor, **lenient)
    scores = spec.scorer.scores(tests, spec.answer(made, tests), spec.labels)
    return {"scores": scores, "cpu_seconds": round(seconds)}


def simple(this: Set, train: list[Row], test: list[Row]) -> dict[str, Any] | None:
    """The best of the report's simple models; test rows choose its strength."""
    spec, rows, tests = rows_of(this, train, test)
    found = spec.baselines(rows, tests)
    best = max(found.values(), key=lambda x: x[spec.metric], default=None)
    return best and {"scores": best}


def vectors(this: Set, train: list[Row], test: list[Row], encoder: str, seed: int):
    """A linear model of the vectors of a sentence encoder."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multiclass import OneVsRestClassifier

    if this.task not in (CLASSES, SEVERAL, "regression"):
        return None
    spec, rows, tests = rows_of(this, train, test)
    labels, scorer = spec.labels, spec.scorer
    source = checkpoint(encoder)
    body = kbl.sentence_encoder(kbl.load_encoder(source, pooling=None), pooling="mean")
    model = kbl.with_text(body, kbl.load_preprocessor(source, sequence_length=128))

    def read(x: list[Row]) -> np.ndarray:
        parts = [
            model.predict(texts, 64, verbose=0)["sentence_embedding"]
            for texts in spec.texts(x).values()
        ]
        if len(parts) == 1:
            return parts[0]
        u, v = parts
        return np.concatenate([u, v, np.abs(u - v), u * v], 1)

    parts = split(rows, None, seed)
    x = {"all": read(rows), "train": read(parts.train), "held": read(parts.validation)}
    x["test"] = read(tests)

    def answers(fit_on: str, fit_rows: list[Row], to: str, strength: float):
        if this.task == "regression":
            y = np.array(targets(fit_rows), float)
            return {"score": Ridge(1 / strength).fit(x[fit_on], y).predict(x[to])}
        if this.task == CLASSES:
            y = targets(fit_rows)
            model = LogisticRegression(C=strength, max_iter=2000).fit(x[fit_on], y)
            return {"label": model.predict(x[to])}
        y = indicators(fit_rows, labels)
        model = OneVsRestClassifier(LogisticRegression(C=strength, max_iter=2000))
        return {"scores": model.fit(x[fit_on], y).predict_proba(x[to])}

    best: tuple[float, float, dict] = (-1.0, 0.0, {})
    for strength in STRENGTHS:
        found = answers("train", parts.train, "held", strength)
        options, found = scorer.tuned(parts.validation, found, labels)
        score = scorer.scores(parts.validation, found, labels)[spec.metric]
        best = max(best, (score, strength, options), key=lambda x: x[0])
    found = answers("all", rows, "test", best[1])
    if best[2]:
        named = np.where(found["scores"] > best[2]["threshold"], labels["labels"], "")
        found["labels"] = named
    return {"scores": scorer.scores(tests, found, labels)}
