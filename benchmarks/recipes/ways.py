"""Ways to learn a task from rows; each returns its scores on the test rows.

Times are seconds of CPU, of all threads, which other load changes little.
"""

import time
from typing import Any

import keras
import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.recipes.sets import CLASSES, SEVERAL, Row, Set
from keras_bert_lite.finetuning.baseline import baselines
from keras_bert_lite.finetuning.course.contrast import STEPS, TEXTS
from keras_bert_lite.finetuning.kinds import KINDS
from keras_bert_lite.finetuning.rows import ordered, split
from keras_bert_lite.training.data.records import Records

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
    recipe = report["recipe"]
    read = recipe["steps"] * recipe["batch_size"]
    read += STEPS * TEXTS if report["contrasted"] else 0
    return {
        "scores": scores,
        "cpu_seconds": round(seconds),
        "rows_read": read * (2 if report["refitted"] else 1),
        "best": report["best"],
        "held_out": report["scores"],
        "recipe": recipe,
        "contrasted": report["contrasted"],
        "apart": report["apart"],
        "options": report["options"],
    }


def plain(
    this: Set, train: list[Row], test: list[Row], encoder: str, seed: int, steps: int
):
    """Fine-tunes as at first: a random head, one rate, all rows, tags as they come."""
    keras.utils.set_random_seed(seed)
    began = time.process_time()
    kind = KINDS[this.task](**this.columns)
    rows = kind.prepared([kind.converted(row) for row in train])
    labels = kind.find_labels([*rows, *map(kind.converted, test)])
    source = checkpoint(encoder)
    preprocessor = kbl.load_preprocessor(source, sequence_length=128)
    model = kind.build(kbl.load_encoder(source, pooling=None), labels)
    stream = Records(lambda: ordered(rows, kind, BATCH, seed))
    data = kind.dataset(stream, preprocessor, labels, batch_size=BATCH, check=False)
    kbl.compile(model, steps=steps, learning_rate=RATES[encoder])
    model.fit(data, steps_per_epoch=steps, verbose=0)
    seconds = time.process_time() - began
    lenient = {"decoding": "lenient"} if "decoding" in kind.options_kept else {}
    made = kind.string_model(model, preprocessor, **lenient)
    tests = kind.prepared([kind.converted(row) for row in test])
    scores = kind.scores(tests, kind.answer(made, tests), labels)
    return {"scores": scores, "cpu_seconds": round(seconds)}


def simple(this: Set, train: list[Row], test: list[Row]) -> dict[str, Any] | None:
    """The best of the report's simple models; test rows choose its strength."""
    kind = KINDS[this.task](**this.columns)
    rows, tests = (
        kind.prepared([kind.converted(row) for row in x]) for x in (train, test)
    )
    found = baselines(kind, rows, tests, kind.find_labels([*rows, *tests]))
    best = max(found.values(), key=lambda x: x[kind.metric], default=None)
    return best and {"scores": best}


def vectors(this: Set, train: list[Row], test: list[Row], encoder: str, seed: int):
    """A linear model of the vectors of a sentence encoder."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.multiclass import OneVsRestClassifier

    kind = KINDS[this.task](**this.columns)
    if this.task not in (CLASSES, SEVERAL, "regression"):
        return None
    rows, tests = ([kind.converted(row) for row in x] for x in (train, test))
    labels = kind.find_labels([*rows, *tests])
    source = checkpoint(encoder)
    body = kbl.sentence_encoder(kbl.load_encoder(source, pooling=None), pooling="mean")
    model = kbl.with_text(body, kbl.load_preprocessor(source, sequence_length=128))

    def read(x: list[Row]) -> np.ndarray:
        parts = [
            model.predict(texts, 64, verbose=0)["sentence_embedding"]
            for texts in kind.texts(x).values()
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
            y = np.array(kind.targets(fit_rows), float)
            return {"score": Ridge(1 / strength).fit(x[fit_on], y).predict(x[to])}
        if this.task == CLASSES:
            y = kind.targets(fit_rows)
            model = LogisticRegression(C=strength, max_iter=2000).fit(x[fit_on], y)
            return {"label": model.predict(x[to])}
        y = kind.indicators(fit_rows, labels)
        model = OneVsRestClassifier(LogisticRegression(C=strength, max_iter=2000))
        return {"scores": model.fit(x[fit_on], y).predict_proba(x[to])}

    best: tuple[float, float, dict] = (-1.0, 0.0, {})
    for strength in STRENGTHS:
        found = answers("train", parts.train, "held", strength)
        options, found = kind.tuned(parts.validation, found, labels)
        score = kind.scores(parts.validation, found, labels)[kind.metric]
        best = max(best, (score, strength, options), key=lambda x: x[0])
    found = answers("all", rows, "test", best[1])
    if best[2]:
        named = np.where(found["scores"] > best[2]["threshold"], labels["labels"], "")
        found["labels"] = named
    return {"scores": kind.scores(tests, found, labels)}
