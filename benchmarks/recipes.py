"""What `kbl.finetune` reaches with few and many rows, beside simpler ways.

    python -m benchmarks.recipes --data DATA

For each set, number of rows, seed and encoder it scores, on the development or test
set: `finetune`; plain fine-tuning (a random head, the rates of `benchmarks.encoders`,
as many steps); logistic regression on TF-IDF; and a linear model of MiniLM's vectors
(of a pair: u, v, |u - v| and u v). Each chooses by rows held out of the training rows.
Each result is a line of `results/recipes.jsonl`, in which the next call goes on.
"""

import argparse
import dataclasses
import functools
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
from keras_bert_lite.finetuning.baseline import baselines
from keras_bert_lite.finetuning.kinds import KINDS
from keras_bert_lite.finetuning.rows import ordered, split
from keras_bert_lite.training.data.records import Records

Row = dict[str, Any]
RESULTS = Path(__file__).parent / "results" / "recipes.jsonl"
RATES = {"bert_mini_books": 3e-4, "MiniLM": 1e-4}
ENTITIES = ("PER", "ORG", "LOC", "MISC")
STRENGTHS = (1.0, 3.0, 10.0)
WAYS = ("finetune", "plain", "simple", "vectors")


@dataclasses.dataclass(frozen=True)
class Set:
    """A data set: its task, its columns, and how its rows are read."""

    task: str
    read: Callable[[Path], tuple[list[Row], list[Row]]]
    columns: dict[str, str]
    metric: str | None = None


def tables(folder: str, names: tuple[str, str], **options: Any) -> Callable:
    def read(data: Path) -> tuple[list[Row], list[Row]]:
        found = (kbl.data.read_csv(data / folder / x, **options) for x in names)
        return tuple(list(rows) for rows in found)

    return read


def snips(data: Path) -> tuple[list[Row], list[Row]]:
    names = ("train.jsonl", "test.jsonl")
    return tuple(list(kbl.data.read_jsonl(data / "snips" / x)) for x in names)


def conll(data: Path) -> tuple[list[Row], list[Row]]:
    names = ("eng.train", "eng.testb")
    found = (kbl.data.read_conll(data / "conll2003" / x, scheme="bio") for x in names)
    return tuple(list(rows) for rows in found)


def kinds(data: Path) -> tuple[list[Row], list[Row]]:
    return tuple(
        [
            {
                "text": " ".join(x["words"]),
                "label": [k for k in ENTITIES if any(t.endswith(k) for t in x["tags"])],
            }
            for x in rows
        ]
        for rows in conll(data)
    )


DEV = ("train.tsv", "dev.tsv")
CLASSES, SEVERAL = "text_classification", "multi_label_classification"
SETS = {
    "sst2": Set(CLASSES, tables("glue/SST-2", DEV), {"text": "sentence"}),
    "cola": Set(
        CLASSES,
        tables("glue/CoLA", DEV, columns=["source", "label", "star", "text"]),
        {},
        "matthews",
    ),
    "mrpc": Set(
        CLASSES,
        tables("glue/MRPC", DEV),
        {"text": "#1 String", "text_pair": "#2 String", "label": "Quality"},
    ),
    "stsb": Set(
        "regression",
        tables("glue/STS-B", DEV),
        {"text": "sentence1", "text_pair": "sentence2", "label": "score"},
    ),
    "rte": Set(
        CLASSES,
        tables("glue/RTE", DEV),
        {"text": "sentence1", "text_pair": "sentence2"},
    ),
    "emotions": Set(CLASSES, tables("tweet_emotion", ("train.tsv", "test.tsv")), {}),
    "kinds": Set(SEVERAL, kinds, {}),
    "snips": Set("intent_and_slots", snips, {}),
    "conll2003": Set("token_classification", conll, {}),
}


def checkpoint(encoder: str) -> Any:
    return minilm() if encoder == "MiniLM" else encoder


def tuned(this: Set, train: list[Row], test: list[Row], encoder: str, seed: int):
    began = time.perf_counter()
    found = kbl.finetune(
        this.task,
        train,
        encoder=checkpoint(encoder),
        columns=this.columns,
        seed=seed,
        baseline=False,
        verbose=0,
    )
    seconds = time.perf_counter() - began
    report = found.report
    scores = kbl.evaluate(found.text_model, test, this.columns)["scores"]
    recipe = report["recipe"]
    return {
        "scores": scores,
        "seconds": round(seconds),
        "steps": recipe["steps"] * (2 if report["refitted"] else 1),
        "best": report["best"],
        "held_out": report["scores"],
        "recipe": recipe,
    }


def plain(
    this: Set, train: list[Row], test: list[Row], encoder: str, seed: int, steps: int
):
    """Fine-tunes as at first: a random head, one rate, all rows."""
    keras.utils.set_random_seed(seed)
    began = time.perf_counter()
    kind = KINDS[this.task](**this.columns)
    rows = kind.prepared([kind.converted(row) for row in train])
    labels = kind.find_labels([*rows, *map(kind.converted, test)])
    source = checkpoint(encoder)
    preprocessor = kbl.load_preprocessor(source, sequence_length=128)
    model = kind.build(kbl.load_encoder(source, pooling=None), labels)
    stream = Records(lambda: ordered(rows, kind, 32, seed))
    data = kind.dataset(stream, preprocessor, labels, batch_size=32, check=False)
    kbl.compile(model, steps=steps, learning_rate=RATES[encoder])
    model.fit(data, steps_per_epoch=steps, verbose=0)
    seconds = time.perf_counter() - began
    made = kind.string_model(model, preprocessor)
    tests = kind.prepared([kind.converted(row) for row in test])
    scores = kind.scores(tests, kind.answer(made, tests), labels)
    return {"scores": scores, "seconds": round(seconds)}


def simple(this: Set, train: list[Row], test: list[Row]) -> dict[str, Any]:
    """The best of the report's simple models; test rows choose its strength."""
    kind = KINDS[this.task](**this.columns)
    rows, tests = (
        kind.prepared([kind.converted(row) for row in x]) for x in (train, test)
    )
    found = baselines(kind, rows, tests, kind.find_labels([*rows, *tests]))
    return {"scores": max(found.values(), key=lambda x: x[kind.metric])}


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


def cells(options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    for rows in options.rows:
        seeds = range(options.seeds if rows > 64 else max(options.seeds, options.draws))
        yield from itertools.product(options.sets, [rows], seeds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipes")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", nargs="+", type=int, default=[64, 500, 2000, 6000])
    parser.add_argument("--encoders", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument(
        "--ways", nargs="+", default=["finetune", "plain", "simple", "vectors"]
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=3, help="seeds at 64 rows")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    done: list[dict[str, Any]] = []
    if options.results.exists():
        done = [json.loads(x) for x in options.results.read_text().splitlines()]
    held: dict[str, tuple[list[Row], list[Row]]] = {}

    def once(key: dict[str, Any], make: Callable[[], Any]) -> dict[str, Any] | None:
        found = [x for x in done if key.items() <= x.items()]
        if found:
            return found[-1]
        made = make()
        if made is None:
            return None
        done.append({**key, **made})
        with options.results.open("a") as file:
            file.write(json.dumps(done[-1]) + "\n")
        print(
            json.dumps({**key, **made["scores"], "s": made.get("seconds")}), flush=True
        )
        return done[-1]

    for name, rows, seed in cells(options):
        this = SETS[name]
        if name not in held:
            held[name] = this.read(options.data)
        every, test = held[name]
        if len(every) < rows:
            continue
        order = np.random.default_rng(seed).permutation(len(every))[:rows]
        train = [every[i] for i in order]
        key = {"set": name, "rows": rows, "seed": seed}
        if "simple" in options.ways:
            once({**key, "way": "simple"}, functools.partial(simple, this, train, test))
        if "vectors" in options.ways:
            once(
                {**key, "way": "vectors"},
                functools.partial(vectors, this, train, test, "MiniLM", seed),
            )
        for encoder in options.encoders:
            own = {**key, "encoder": encoder}
            ours = once(
                {**own, "way": "finetune"},
                functools.partial(tuned, this, train, test, encoder, seed),
            )
            if "plain" in options.ways and ours is not None:
                once(
                    {**own, "way": "plain"},
                    functools.partial(
                        plain, this, train, test, encoder, seed, ours["steps"]
                    ),
                )
    print(markdown(done))


def markdown(records: list[dict[str, Any]]) -> str:
    """Returns a table: means over the seeds, the task's own score in percent."""
    ways = dict.fromkeys((x["way"], x.get("encoder", "")) for x in records)
    head = ["set", "rows", *(f"{way} {encoder}".strip() for way, encoder in ways)]
    lines = [head, ["---"] * len(head)]
    for name, rows in sorted({(x["set"], x["rows"]) for x in records}):
        metric = SETS[name].metric or KINDS[SETS[name].task].metric
        line = [name, str(rows)]
        for way, encoder in ways:
            key = {"set": name, "rows": rows, "way": way}
            found = [
                100 * x["scores"][metric]
                for x in records
                if key.items() <= x.items() and x.get("encoder", "") == encoder
            ]
            line.append(f"{mean(found):.1f}" if found else "")
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
