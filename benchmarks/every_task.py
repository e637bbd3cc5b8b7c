"""The tasks that `benchmarks.finetuning` does not compare, on real data.

    python -m benchmarks.every_task --data DATA

trains MiniLM for a few minutes on each and prints what it scores on held-out rows
beside what needs no training: the commonest answer, chance, or MiniLM as it comes.
Classes are those of CoLA and RTE, intents and slots those of SNIPS. The rest is made
of the data there: which kinds of entity a sentence of CoNLL-2003 names (several
labels), which of four sentences follows another one in a book (multiple choice). A
sentence encoder is trained on STS-B in three ways.
"""

import argparse
import json
import lzma
import time
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import keras
import numpy as np

import keras_bert_lite as kbl
from benchmarks.finetuning.subset import subset
from benchmarks.inference.models import minilm

Row = dict[str, Any]
Scores = dict[str, float]
KINDS = ("PER", "ORG", "LOC", "MISC")
CHOICES = 4
BOOKS = "standard_ebooks_sentences.txt.xz"


def preprocessor() -> kbl.Preprocessor:
    return kbl.load_preprocessor(minilm(), sequence_length=128)


def fit(model: keras.Model, train, rate: float, epochs: int = 1, **compiled: Any):
    """Trains with the package's AdamW."""
    model.compile(
        kbl.optimizers.bert_adamw(epochs * len(train), learning_rate=rate), **compiled
    )
    model.fit(train, epochs=epochs, shuffle=False, verbose=0)


def cola(data: Path, rows: int) -> Scores:
    names = ["source", "label", "mark", "sentence"]
    train, dev = (
        list(kbl.data.read_csv(data / "glue/CoLA" / name, columns=names))
        for name in ("train.tsv", "dev.tsv")
    )
    return _classes(train, dev, rows, ["0", "1"], 2, text="sentence")


def rte(data: Path, rows: int) -> Scores:
    train, dev = (
        list(kbl.data.read_csv(data / "glue/RTE" / name))
        for name in ("train.tsv", "dev.tsv")
    )
    columns = {"text": "sentence1", "text_pair": "sentence2"}
    return _classes(train, dev, rows, ["entailment", "not_entailment"], 3, **columns)


def _classes(
    train, dev, rows: int, labels: list[str], epochs: int, **columns: str
) -> Scores:
    """Accuracy and Matthews' correlation, and the accuracy of the commonest class."""
    options = {"labels": labels, "batch_size": 16, **columns}
    model = kbl.text_classifier(kbl.load_encoder(minilm()), labels)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    batches = kbl.text_dataset(subset(train, rows), preprocessor(), **options)
    fit(model, batches, 1e-4, epochs, loss=loss, metrics=["accuracy"])
    scores = kbl.evaluation.on_rows(dev, preprocessor(), columns)(model)
    counts = np.unique([row["label"] for row in dev], return_counts=True)[1]
    return {
        "accuracy": scores["accuracy"],
        "matthews": scores["matthews"],
        "accuracy of the commonest": counts.max() / counts.sum(),
    }


def multi_label(data: Path, rows: int) -> Scores:
    """Micro and macro F1, and micro F1 of all labels in each row."""
    train, dev = (
        [
            _kinds(row)
            for row in kbl.data.read_conll(data / "conll2003" / name, scheme="bio")
        ]
        for name in ("eng.train", "eng.testa")
    )
    options = {"labels": KINDS, "multi_label": True, "batch_size": 16}
    model = kbl.multi_label_classifier(kbl.load_encoder(minilm()), KINDS)
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    batches = kbl.text_dataset(subset(train, rows), preprocessor(), **options)
    metrics = [
        kbl.metrics.MultiLabelF1(len(KINDS), x, name=x) for x in ("micro", "macro")
    ]
    fit(model, batches, 2e-4, loss=loss, metrics=metrics)
    test = kbl.text_dataset(dev[:1000], preprocessor(), **options)
    scores = model.evaluate(test, verbose=0, return_dict=True)
    share = sum(len(row["label"]) for row in dev[:1000]) / (1000 * len(KINDS))
    return {
        "micro F1": scores["micro"],
        "macro F1": scores["macro"],
        "micro F1 of all labels": 2 * share / (1 + share),
    }


def _kinds(row: Row) -> Row:
    found = {tag[2:] for tag in row["tags"]} - {""}
    return {"text": " ".join(row["words"]), "label": sorted(found)}


def intents(data: Path, rows: int) -> Scores:
    """Accuracy of intents, F1 of slots; with the commonest intent and no slot."""
    train, dev = (
        list(kbl.data.read_jsonl(data / "snips" / f"{name}.jsonl"))
        for name in ("train", "test")
    )
    names = sorted({row["intent"] for row in train})
    tags = ["O", *sorted({tag for row in train for tag in row["tags"]} - {"O"})]
    options = {"intents": names, "slots": tags, "batch_size": 16}
    model = kbl.intent_and_slot_classifier(
        kbl.load_encoder(minilm()), names, tags, pooling="mean"
    )
    batches = kbl.intent_and_slot_dataset(
        subset(train, rows), preprocessor(), shuffle=True, seed=0, **options
    )
    kbl.compile(model, steps=2 * len(batches), learning_rate=3e-4)
    model.fit(batches, epochs=2, shuffle=False, verbose=0)
    test = kbl.intent_and_slot_dataset(dev, preprocessor(), **options)
    scores = model.evaluate(test, verbose=0, return_dict=True)
    counts = np.unique([row["intent"] for row in dev], return_counts=True)[1]
    return {
        "intent accuracy": scores["intent_logits_accuracy"],
        "slot F1": scores["slot_logits_entity_f1"],
        "accuracy of the commonest intent": counts.max() / counts.sum(),
    }


def choices(data: Path, rows: int) -> Scores:
    """Accuracy, and that of chance."""
    questions = _questions(data / BOOKS, rows + 500)
    train, dev = questions[:rows], questions[rows:]
    model = kbl.multiple_choice(kbl.load_encoder(minilm()))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    batches = kbl.choice_dataset(train, preprocessor(), batch_size=8)
    fit(model, batches, 1e-4, loss=loss, metrics=["accuracy"])
    test = kbl.choice_dataset(dev, preprocessor(), batch_size=8)
    scores = model.evaluate(test, verbose=0, return_dict=True)
    return {"accuracy": scores["accuracy"], "accuracy of chance": 1 / CHOICES}


def _questions(path: Path, number: int) -> list[Row]:
    """Sentences, each with the next one among three others of the same pages."""
    rng = np.random.default_rng(20)
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in islice(file, 5 * number)]
    pairs = [pair for pair in list(pairwise(lines))[::3] if all(pair)][:number]
    lines = [line for line in lines if line]
    rows = []
    for text, following in pairs:
        others = rng.choice(len(lines), CHOICES - 1, replace=False)
        options = [lines[i] for i in others]
        label = int(rng.integers(CHOICES))
        options.insert(label, following)
        rows.append({"text": text, "choices": options, "label": label})
    return rows


def sentences(data: Path, rows: int) -> Scores:
    """Spearman's correlation on STS-B: as it comes, and after three losses."""
    train, dev = (
        list(
            kbl.data.read_csv(data / "glue/STS-B" / name, converters={"score": _share})
        )
        for name in ("train.tsv", "dev.tsv")
    )
    train = subset(train, rows)
    same = [row for row in train if row["score"] >= 0.8]
    rng = np.random.default_rng(20)
    for row in same:
        row["other"] = train[rng.integers(len(train))]["sentence1"]
    pair = ["sentence1", "sentence2"]
    ways = {
        "cosine": (train, pair, "score", kbl.losses.CosineSimilarityLoss()),
        "in-batch negatives": (same, pair, None, kbl.losses.InBatchNegativesLoss()),
        "triplet": (same, [*pair, "other"], None, kbl.losses.TripletLoss()),
    }
    test = kbl.text_dataset(dev, preprocessor(), pair, label="score", batch_size=32)
    spearman = kbl.evaluation.spearman(test)
    scores = {}
    for name, (source, text, label, loss) in ways.items():
        encoder = kbl.sentence_encoder(kbl.load_encoder(minilm(), pooling=None))
        groups = kbl.sentence_encoder_trainer(encoder)
        scores.setdefault("as it comes", spearman(groups)["spearman"])
        batches = kbl.text_dataset(
            source, preprocessor(), text, label=label, batch_size=16
        )
        fit(groups, batches, 2e-5, loss=loss)
        scores[f"after {name}"] = spearman(groups)["spearman"]
    return scores


def _share(score: str) -> float:
    return float(score) / 5


TASKS: dict[str, tuple[Callable[[Path, int], Scores], int]] = {  # and rows to train on
    "cola": (cola, 8551),
    "rte": (rte, 2490),
    "multi_label": (multi_label, 1600),
    "intents": (intents, 8000),
    "choices": (choices, 1600),
    "sentences": (sentences, 1600),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.every_task")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rows", type=int, help="to train on, instead of each task's")
    options = parser.parse_args()
    for name in options.tasks:
        keras.utils.set_random_seed(0)
        start = time.perf_counter()
        run, rows = TASKS[name]
        rows = options.rows or rows
        scores = run(options.data, rows)
        result: dict[str, Any] = {"task": name, "rows": rows}
        result |= {k: round(100 * v, 2) for k, v in scores.items()}
        result["seconds"] = round(time.perf_counter() - start)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
