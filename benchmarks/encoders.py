"""The encoder that ships, beside no pretraining and beside its teacher.

    python -m benchmarks.encoders --data DATA

fine-tunes on SST-2, MRPC, STS-B and CoNLL-2003, on all their training rows: the same
architecture and vocabulary with random weights, by the encoder's recipe and by a
higher rate; the encoder; and MiniLM, which it was distilled from. STS-B comes twice: as
pairs in one row, and as the cosine of two vectors, before and after training. Rows,
scorers and AdamW are those of `benchmarks.finetuning`; heads read the mean of the
tokens; the learning rates (`RATES`) are the same for all tasks. On SST-2 there is also
logistic regression on TF-IDF of words and pairs of words. Each result is a line of
`encoders.jsonl`, with the digest of what it began with, and is not made
again when the command is.
"""

import argparse
import dataclasses
import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import keras

import keras_bert_lite as kbl
from benchmarks.finetuning import score
from benchmarks.finetuning.sides.ours import KerasBertLite
from benchmarks.finetuning.subset import Row, orders, read
from benchmarks.finetuning.tasks import TASKS, Recipe, Task
from benchmarks.inference.models import minilm
from keras_bert_lite.checkpoints.sources import resolve
from keras_bert_lite.models.encoder_model import config_of

SHIPPED = "bert_mini_books"
RESULTS = Path(__file__).parent / "results" / "encoders.jsonl"
RANDOM = "random weights"
RATES = {
    RANDOM: 3e-4,
    f"{RANDOM}, rate 1e-3": 1e-3,
    SHIPPED: 3e-4,
    "MiniLM": 1e-4,
}
VECTORS = "stsb vectors"
EPOCHS = {"sst2": 1, "mrpc": 3, "stsb": 3, VECTORS: 2, "conll2003": 2}


def checkpoint(source: str) -> Path:
    return minilm() if source == "MiniLM" else resolve(SHIPPED)


def digest(source: str) -> str:
    """Tells one state of an encoder, or one architecture, from another."""
    names = ["model.safetensors"]
    if source.startswith(RANDOM):
        names = ["config.json", "vocab.txt"]
    found = b"".join((checkpoint(source) / name).read_bytes() for name in names)
    return hashlib.sha256(found).hexdigest()[:12]


class Side(KerasBertLite):
    """This package with one of the encoders.

    Args:
        source: A key of `RATES`.
    """

    def __init__(self, source: str, *args: Any) -> None:
        super().__init__(*args)
        self.source = source
        self.checkpoint = checkpoint(source)

    def load_encoder(self):
        rate = self.recipe.dropout
        changes = {"dropout": rate, "attention_dropout": rate}
        encoder = kbl.load_encoder(self.checkpoint, pooling=None, **changes)
        if self.source.startswith(RANDOM):
            return kbl.encoder(config_of(encoder))
        return encoder

    def load_preprocessor(self):
        self.preprocessor = kbl.load_preprocessor(
            self.checkpoint, sequence_length=self.task.length
        )

    def _build(self, encoder):
        if self.task.kind == "tags":
            return kbl.token_classifier(encoder, self.task.labels)
        if self.task.kind == "number":
            return kbl.regressor(encoder, pooling="mean")
        return kbl.text_classifier(encoder, self.task.labels, pooling="mean")


def tasks(rows: int | None) -> Iterator[Task]:
    for name, epochs in EPOCHS.items():
        yield dataclasses.replace(
            TASKS[name.removesuffix(" vectors")],
            name=name,
            rows=rows,
            dev_rows=None,
            batch=32,
            epochs=epochs,
            length=64 if name == "sst2" else 128,
        )


def run(source: str, task: Task, data: Path, seed: int) -> dict[str, float]:
    """Fine-tunes and scores one encoder on one task."""
    task = dataclasses.replace(task, rate=RATES[source])
    train, dev = read(task, data)
    side = Side(source, task, Recipe(dropout=0.1), train, seed)
    if task.name == VECTORS:
        return vectors(side, train, dev)
    side.prepare()
    for order in orders(len(train), task.epochs, seed):
        side.model.fit(side.epoch(order), shuffle=False, verbose=0)
    return score.score(task, dev, side.predict(dev))


def vectors(side: Side, train: list[Row], dev: list[Row]) -> dict[str, float]:
    """STS-B by the cosine of two vectors: as they come, and trained on it."""
    task = side.task
    keras.utils.set_random_seed(side.seed)
    side.load_preprocessor()
    model = kbl.sentence_encoder_trainer(kbl.sentence_encoder(side.load_encoder()))
    columns = {"text": ["text", "text_pair"], "label": "target"}
    batches, test = (
        kbl.text_dataset(rows, side.preprocessor, batch_size=task.batch, **columns)
        for rows in (train, dev)
    )
    spearman = kbl.evaluation.spearman(test)
    before = spearman(model)["spearman"]
    optimizer = kbl.optimizers.bert_adamw(
        task.epochs * len(batches), learning_rate=task.rate
    )
    model.compile(optimizer, kbl.losses.CosineSimilarityLoss())
    model.fit(batches, epochs=task.epochs, shuffle=False, verbose=0)
    after = spearman(model)["spearman"]
    return {"as it comes": round(100 * before, 2), "trained": round(100 * after, 2)}


def tf_idf(task: Task, data: Path) -> dict[str, float]:
    """Logistic regression, its penalty chosen on the held-out rows: a high bar."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    train, dev = read(task, data)
    found = []
    for penalty in (1, 3, 10):
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        model = make_pipeline(words, LogisticRegression(C=penalty, max_iter=1000))
        model.fit([x["text"] for x in train], [x["target"] for x in train])
        predicted = model.predict([x["text"] for x in dev]).tolist()
        found.append(score.score(task, dev, predicted))
    return max(found, key=lambda x: x["accuracy"])


def markdown(records: list[dict[str, Any]]) -> str:
    """Returns the table: mean and standard deviation over the seeds."""
    metrics = {(x["task"], name): None for x in records for name in x["scores"]}
    sources = list(dict.fromkeys(x["source"] for x in records))
    head = ["", *(f"{task} {name}" for task, name in metrics)]
    lines = [head, ["---"] * len(head)]
    for source in sources:
        line = [source]
        for task, name in metrics:
            found = [
                x["scores"][name]
                for x in records
                if (x["source"], x["task"]) == (source, task) and name in x["scores"]
            ]
            spread = f" ± {stdev(found):.1f}" if len(found) > 1 else ""
            line.append(f"{mean(found):.1f}{spread}" if found else "")
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoders")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--sources", nargs="+", choices=RATES, default=list(RATES))
    parser.add_argument("--tasks", nargs="+", choices=EPOCHS, default=list(EPOCHS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="to train on; default: all")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    path = options.results
    kept = []
    if path.exists():
        kept = [json.loads(x) for x in path.read_text().splitlines()]
    records = []

    def keep(source: str, task: Task, seed: int, make: Callable) -> None:
        key = {"source": source, "task": task.name, "seed": seed, "rows": task.rows}
        if source in RATES:
            key |= {"epochs": task.epochs, "rate": RATES[source]}
            key["checkpoint"] = digest(source)
        found = [x for x in kept if key.items() <= x.items()]
        if not found:
            start = time.perf_counter()
            record = {**key, "scores": make()}
            record["seconds"] = round(time.perf_counter() - start)
            print(record, flush=True)
            with path.open("a") as file:
                file.write(json.dumps(record) + "\n")
            found = [record]
        records.append(found[-1])

    for seed in range(options.seeds):
        for task in tasks(options.rows):
            if task.name not in options.tasks:
                continue
            for source in options.sources:
                make = functools.partial(run, source, task, options.data, seed)
                keep(source, task, seed, make)
            if task.name == "sst2" and not seed:
                keep("TF-IDF", task, 0, functools.partial(tf_idf, task, options.data))
    print(markdown(records))


if __name__ == "__main__":
    main()
