"""What a head gains that starts from a linear model of the encoder's vectors.

    python -m benchmarks.warm_start --data DATA

fine-tunes the shipped encoder and MiniLM on few rows: emotions of tweets, intents of
SNIPS (accuracy), and which kinds of entity a sentence of CoNLL-2003 names (several
labels: micro and macro F1 at 0.5). Each is trained from random heads and from
`kbl.tuning.warm_start`, on the same rows, epochs and rates. Beside them stand the
linear model alone, before any training, and logistic regression on TF-IDF of words
and pairs of words. A tenth of the rows chooses the strengths of the linear models;
scores are those of the test sets. Each result is a line of `results/warm_start.jsonl`;
so far `bert_mini_books` is in them the encoder of 4 layers that shipped before.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import keras
import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results" / "warm_start.jsonl"
RATES = {"bert_mini_books": 3e-4, "MiniLM": 1e-4}
KINDS = ["PER", "ORG", "LOC", "MISC"]
STRENGTHS = (1.0, 3.0, 10.0)
BATCH = 32


def emotions(data: Path) -> tuple[list[Row], list[Row]]:
    names = ("train.tsv", "test.tsv")
    return tuple(list(kbl.data.read_csv(data / "tweet_emotion" / x)) for x in names)


def intents(data: Path) -> tuple[list[Row], list[Row]]:
    names = ("train.jsonl", "test.jsonl")
    found = (kbl.data.read_jsonl(data / "snips" / name) for name in names)
    return tuple(
        [{"text": " ".join(x["words"]), "label": x["intent"]} for x in rows]
        for rows in found
    )


def kinds(data: Path) -> tuple[list[Row], list[Row]]:
    names = ("eng.train", "eng.testb")
    found = (kbl.data.read_conll(data / "conll2003" / name) for name in names)
    return tuple(
        [
            {
                "text": " ".join(x["words"]),
                "label": [k for k in KINDS if any(t.endswith(k) for t in x["tags"])],
            }
            for x in rows
        ]
        for rows in found
    )


SETS: dict[str, Callable] = {"emotions": emotions, "intents": intents, "kinds": kinds}


def labels_of(rows: list[Row]) -> list[str]:
    if isinstance(rows[0]["label"], list):
        return KINDS
    return sorted({x["label"] for x in rows})


def split(rows: list[Row], count: int, seed: int) -> tuple[list[Row], list[Row]]:
    """Returns `count` rows of training, and a tenth as many to choose by."""
    order = np.random.default_rng(seed).permutation(len(rows))
    held_out = max(count // 10, 20)
    chosen = [rows[i] for i in order[: count + held_out]]
    return chosen[:count], chosen[count:]


def scored(targets: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Scores logits: the accuracy, or F1 of labels with a logit above 0."""
    from sklearn.metrics import f1_score

    if targets.ndim == 1:
        return {"accuracy": round(100 * float(np.mean(scores.argmax(1) == targets)), 2)}
    return {
        average: round(
            100 * f1_score(targets, scores > 0, average=average, zero_division=0), 2
        )
        for average in ("micro", "macro")
    }


def indices(rows: list[Row], labels: list[str]) -> np.ndarray:
    if isinstance(rows[0]["label"], list):
        return np.array([[int(k in x["label"]) for k in labels] for x in rows])
    return np.array([labels.index(x["label"]) for x in rows])


def fine_tuned(
    source: str, train: list[Row], held_out: list[Row], test: list[Row], seed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the scores of a linear model, and of both ways to fine-tune."""
    labels = labels_of(train)
    several = isinstance(train[0]["label"], list)
    folder = minilm() if source == "MiniLM" else source
    preprocessor = kbl.load_preprocessor(folder, sequence_length=64)
    made = {"labels": labels, "multi_label": several, "batch_size": BATCH}
    batches, others, tests = (
        kbl.text_dataset(rows, preprocessor, shuffle=shuffle, seed=seed, **made)
        for rows, shuffle in ((train, True), (held_out, False), (test, False))
    )
    epochs = 3 if len(train) <= 500 else 2
    build = kbl.multi_label_classifier if several else kbl.text_classifier
    for way in ("random head", "warm start"):
        keras.utils.set_random_seed(seed)
        encoder = kbl.load_encoder(folder, pooling=None)
        model = build(encoder, labels, pooling="mean")
        began = time.perf_counter()
        if way == "warm start":
            kbl.tuning.warm_start(model, batches, others, STRENGTHS)
            seconds = time.perf_counter() - began
            logits = model.predict(tests, verbose=0)["logits"]
            found = scored(indices(test, labels), logits)
            yield "linear model", {**found, "seconds": round(seconds, 1)}
        kbl.compile(model, steps=epochs * len(batches), learning_rate=RATES[source])
        model.fit(batches, epochs=epochs, verbose=0)
        seconds = time.perf_counter() - began
        logits = model.predict(tests, verbose=0)["logits"]
        found = scored(indices(test, labels), logits)
        yield way, {**found, "seconds": round(seconds, 1)}


def tf_idf(train: list[Row], held_out: list[Row], test: list[Row]) -> dict[str, float]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    labels = labels_of(train)
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    sets = (train, held_out, test)
    x = [words.fit_transform([row["text"] for row in train])]
    x += [words.transform([row["text"] for row in rows]) for rows in sets[1:]]
    y = [indices(rows, labels) for rows in sets]
    found = []
    for strength in STRENGTHS:
        model = LogisticRegression(C=strength, max_iter=1000)
        if y[0].ndim > 1:
            model = OneVsRestClassifier(model)
        model.fit(x[0], y[0])
        scores = [np.atleast_2d(model.decision_function(part)) for part in x[1:]]
        found.append([scored(*pair) for pair in zip(y[1:], scores, strict=True)])
    return max(found, key=lambda x: next(iter(x[0].values())))[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.warm_start")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", nargs="+", type=int, default=[64, 500, 2000])
    parser.add_argument("--sources", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    done = []
    if options.results.exists():
        done = [json.loads(x) for x in options.results.read_text().splitlines()]
    cells = itertools.product(range(options.seeds), options.rows, options.sets)
    for seed, count, name in cells:
        rows, test = SETS[name](options.data)
        train, held_out = split(rows, count, seed)
        key = {"set": name, "rows": count, "seed": seed}
        for source in ("TF-IDF", *options.sources):
            if any({**key, "source": source}.items() <= x.items() for x in done):
                continue
            if source == "TF-IDF":
                found = [("linear model", tf_idf(train, held_out, test))]
            else:
                found = list(fine_tuned(source, train, held_out, test, seed))
            made = [{**key, "source": source, "way": w, **x} for w, x in found]
            with options.results.open("a") as file:
                file.writelines(f"{json.dumps(x)}\n" for x in made)
            done += made
            print(*made, sep="\n", flush=True)
    print(markdown(done))


def markdown(records: list[dict[str, Any]]) -> str:
    """Returns the table of means over the seeds."""
    columns = dict.fromkeys((x["set"], x["rows"]) for x in records)
    lines = [["", *(f"{name}, {rows}" for name, rows in columns)]]
    lines.append(["---"] * len(lines[0]))
    for source, way in dict.fromkeys((x["source"], x["way"]) for x in records):
        line = [f"{source}, {way}"]
        for name, rows in columns:
            key = {"set": name, "rows": rows, "source": source, "way": way}
            found = [x for x in records if key.items() <= x.items()]
            metrics = [
                m for m in ("accuracy", "micro", "macro") if found and m in found[0]
            ]
            line.append(" / ".join(f"{mean(x[m] for x in found):.1f}" for m in metrics))
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
