"""Trained in English, answering in other languages: multilingual E5.

    python -m benchmarks.languages --data DATA --encoder ENCODER [--lists LISTS]

ENCODER is a directory of multilingual-e5-small. Its weights were restored from 4 bits
for the results shown here, with cosines to the original ones of 0.98 to 0.99.

- `paragraphs`: XQuAD as retrieval. The questions of one language are to find their
  paragraph among those of all twelve, in each of them; no training.
- `topics`: which of ten sections a Debian package belongs to, by its description.
  Trained on English descriptions, scored on translations of those of other packages;
  LISTS holds the files of `apt-get update -o Dir::State::lists=LISTS
  -o Acquire::GzipIndexes=false -o Acquire::Languages=en,fr,...`. Beside the majority
  class, and logistic regression on the encoder's vectors of the same English rows.
- `answers`: XQuAD's questions, of which those about half of the articles are answered
  after training on SQuAD's about the other half; then the reverse. The plain loop of
  transformers' example script reads the same rows for as many epochs.
- `sizes`: SavedModels of the whole encoder and of one with the tokens of XQuAD's texts
  only (`kbl.surgery.keep_tokens`), in float32 and int8: bytes on the disk, seconds from
  the start of a process that has TensorFlow only to the first answer, questions of all
  languages a second, in batches of 32 sorted by length, and the least cosine with
  sentence-transformers' vectors.

Each result is a line of `results/languages.jsonl`, in which the next call goes on.
"""

import argparse
import dataclasses
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.tables import table
from benchmarks.recipes.log import Log
from keras_bert_lite.data import RetrievalSet
from keras_bert_lite.finetuning.retrieval import metrics_of
from keras_bert_lite.training.scores.ranking import ranking_details, rankings_of
from keras_bert_lite.training.scores.squad import squad_scores

RESULTS = Path(__file__).parent / "results" / "languages.jsonl"
PROMPTS = {"query": "query: ", "passage": "passage: "}
LENGTH = 256  # tokens of a paragraph
FOUND = 100  # paragraphs
SECTIONS = (
    *("editors", "games", "graphics", "mail", "net"),
    *("science", "sound", "text", "video", "web"),
)
TRAINED, TESTED = 400, 300  # packages of a section, and of a language
FEWEST = 100  # translations of a language
QUESTIONS, EPOCHS = 2000, 2
ASKED, BATCH = 1200, 32
UNITS = {
    "pieces": "pieces",
    "mib": "MiB",
    "first_answer": "first answer, s",
    "sentences_per_second": "sentences/s",
    "least_cosine": "least cosine",
}
Row = dict[str, Any]


def squads(data: Path) -> dict[str, list[Row]]:
    """Returns XQuAD's questions by language."""
    paths = sorted((data / "xquad").glob("xquad.*.json"))
    return {x.name.split(".")[1]: [*kbl.data.read_squad(x)] for x in paths}


def retrieval_sets(rows: dict[str, list[Row]]) -> dict[str, RetrievalSet]:
    """Returns the questions of each language, with the paragraphs of all."""
    paragraphs = {
        language: [*dict.fromkeys(x["context"] for x in these)]
        for language, these in rows.items()
    }
    corpus = {
        f"{language} {i}": text
        for language, texts in paragraphs.items()
        for i, text in enumerate(texts)
    }
    sets = {}
    for language, these in rows.items():
        places = {text: i for i, text in enumerate(paragraphs[language])}
        queries = {f"q{i}": x["question"] for i, x in enumerate(these)}
        right = {
            f"q{i}": {f"{other} {places[x['context']]}": 1 for other in rows}
            for i, x in enumerate(these)
        }
        sets[language] = RetrievalSet(queries, corpus, right)
    return sets


def paragraphs(options: argparse.Namespace) -> Iterator[Row]:
    sets = retrieval_sets(squads(options.data))
    preprocessor = kbl.load_preprocessor(
        options.encoder, sequence_length=LENGTH, prompts=PROMPTS
    )
    model = kbl.with_text(
        kbl.load_model(options.encoder), preprocessor, prompt_name=True
    )
    corpus = dict(next(iter(sets.values())).corpus)
    with tempfile.TemporaryDirectory() as folder:
        index = kbl.search.load(kbl.search.index(model, corpus, folder, k=FOUND))
        found = {x: kbl.evaluate(index, data) for x, data in sets.items()}
    theirs = _their_scores(options.encoder, sets)
    for language, result in found.items():
        yield {
            "language": language,
            "scores": result["scores"],
            "theirs": theirs[language],
            "bm25": result["baselines"]["BM25"],
        }


def _their_scores(
    encoder: Path, sets: dict[str, RetrievalSet]
) -> dict[str, dict[str, float]]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(encoder), device="cpu")
    model.max_seq_length = LENGTH
    corpus = next(iter(sets.values())).corpus
    ids = [*corpus]
    texts = model.encode([*corpus.values()], prompt=PROMPTS["passage"])
    scores = {}
    for language, data in sets.items():
        queries = model.encode([*data.queries.values()], prompt=PROMPTS["query"])
        places = np.argsort(-queries @ texts.T, 1, kind="stable")[:, :FOUND]
        found = [[ids[i] for i in row] for row in places]
        details = ranking_details(metrics_of(FOUND), rankings_of(data, found))
        scores[language] = {name: float(x.mean()) for name, x in details.items()}
    return scores


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """Yields the records of a file of Debian's package index."""
    for stanza in path.read_text(encoding="utf-8").split("\n\n"):
        record: dict[str, str] = {}
        for line in stanza.split("\n"):
            if line.startswith(" "):
                record[name] += "\n" + line.strip()  # noqa: F821  of the line before
            elif line:
                name, _, value = line.partition(":")
                record[name] = value.strip()
        if record:
            yield record


def descriptions(lists: Path) -> tuple[list[Row], list[Row]]:
    """Returns English descriptions to train on, and those of other packages to test.

    Packages of one source are on one side.
    """
    known: dict[str, tuple[str, str]] = {}
    paths = sorted(lists.glob("*_main_binary-*_Packages"))
    for record in itertools.chain.from_iterable(map(stanzas, paths)):
        source = record.get("Source", record["Package"]).split()[0]
        if record["Section"] in SECTIONS and "Description-md5" in record:
            known.setdefault(record["Description-md5"], (record["Section"], source))
    rows: dict[str, list[Row]] = {}
    for path in sorted(lists.glob("*_main_i18n_Translation-*")):
        language = path.name.rpartition("Translation-")[2].replace("%5f", "_")
        for record in stanzas(path):
            section, source = known.get(record["Description-md5"], ("", ""))
            text = record.get(f"Description-{language}", "")
            if section and text:
                row = {"text": text, "label": section, "language": language}
                rows.setdefault(language, []).append({**row, "source": source})
    rng = np.random.default_rng(0)
    sources = sorted({row["source"] for row in rows["en"]})
    tested = {*rng.permutation(sources)[: len(sources) // 2].tolist()}
    train: list[Row] = []
    for section in SECTIONS:
        fitting = [
            x for x in rows["en"] if x["label"] == section and x["source"] not in tested
        ]
        train += [fitting[i] for i in rng.permutation(len(fitting))[:TRAINED]]
    test: list[Row] = []
    for these in rows.values():
        fitting = [x for x in these if x["source"] in tested]
        if len(fitting) >= FEWEST:
            test += [fitting[i] for i in rng.permutation(len(fitting))[:TESTED]]
    return train, test


def topics(options: argparse.Namespace) -> Iterator[Row]:
    train, test = descriptions(options.lists)
    made = kbl.finetune(
        "text_classification",
        train,
        encoder=options.encoder,
        sequence_length=128,
        prompts={"query": PROMPTS["query"]},
        freeze_embeddings=True,
        baseline=False,
        verbose=0,
    )
    found = kbl.evaluate(made.text_model, test, group="language")["groups"]
    simple = _logistic_regression(options.encoder, train, test)
    majority = Counter(x["label"] for x in train).most_common(1)[0][0]
    for language, result in found.items():
        labels = [x["label"] for x in test if x["language"] == language]
        yield {
            "language": language,
            "rows": result["rows"],
            "accuracy": result["scores"]["accuracy"],
            "logistic_regression": simple[language],
            "majority": labels.count(majority) / len(labels),
        }


def _logistic_regression(
    encoder: Path, train: list[Row], test: list[Row]
) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression

    model = kbl.with_text(
        kbl.load_model(encoder), kbl.load_preprocessor(encoder, sequence_length=128)
    )

    def vectors(rows: list[Row]) -> np.ndarray:
        texts = [PROMPTS["query"] + x["text"] for x in rows]
        return model.predict(texts, verbose=0)["sentence_embedding"]

    simple = LogisticRegression(C=10, max_iter=1000)
    simple.fit(vectors(train), [x["label"] for x in train])
    answers = simple.predict(vectors(test))
    right: dict[str, list[bool]] = {}
    for row, answer in zip(test, answers, strict=True):
        right.setdefault(row["language"], []).append(row["label"] == answer)
    return {language: mean(x) for language, x in right.items()}


def questions(data: Path, half: int) -> tuple[list[Row], list[Row]]:
    """Returns SQuAD's questions about half of the articles, and XQuAD's of the others.

    XQuAD's questions are translations of some of SQuAD's.
    """
    squad = [*kbl.data.read_squad(data / "squad" / "dev-v1.1.json", misplaced="find")]
    titles = sorted({x["title"] for x in squad})
    tested = {*titles[half::2]}
    train = [x for x in squad if x["title"] not in tested]
    chosen = np.random.default_rng(half).permutation(len(train))[:QUESTIONS]
    test = [
        {**x, "id": f"{language} {x['id']}", "language": language}
        for language, rows in squads(data).items()
        for x in rows
        if x["title"] in tested
    ]
    return [train[i] for i in chosen], test


def answers(options: argparse.Namespace) -> Iterator[Row]:
    for half in range(2):
        train, test = questions(options.data, half)
        made = kbl.finetune(
            "question_answering",
            train,
            encoder=options.encoder,
            epochs=EPOCHS,
            sequence_length=384,
            freeze_embeddings=True,
            baseline=False,
            verbose=0,
        )
        found = kbl.evaluate(made.text_model, test, group="language")["groups"]
        english = [x for x in test if x["language"] == "en"]
        theirs = _their_f1(options.encoder, train, english)
        for language, result in found.items():
            scores = {"f1": result["scores"]["f1"], "exact": result["scores"]["exact"]}
            other = {"theirs": theirs} if language == "en" else {}
            yield {"language": language, "half": half, **scores, **other}


def _their_f1(encoder: Path, train: list[Row], test: list[Row]) -> float:
    from benchmarks.finetuning.sides.torch_side import Transformers
    from benchmarks.finetuning.subset import orders
    from benchmarks.finetuning.tasks import TASKS, Recipe

    class Side(Transformers):
        checkpoint = encoder

    task = dataclasses.replace(TASKS["squad"], epochs=EPOCHS)
    side = Side(task, Recipe(dropout=0.1), train, seed=0)
    side.prepare()
    for order in orders(len(train), EPOCHS, seed=0):
        side.train(order, lambda: None)
    found = {x["id"]: text for x, text in zip(test, side.predict(test), strict=True)}
    return squad_scores(test, found)["f1"]


def sizes(options: argparse.Namespace) -> Iterator[Row]:
    rows = [x for these in squads(options.data).values() for x in these]
    paragraphs = [*dict.fromkeys(x["context"] for x in rows)]
    texts = [*(x["question"] for x in rows), *paragraphs]
    preprocessor = kbl.load_preprocessor(options.encoder, sequence_length=LENGTH)
    whole = kbl.load_model(options.encoder), preprocessor
    models = {
        "whole": whole,
        "twelve languages": kbl.surgery.keep_tokens(*whole, texts),
    }
    rng = np.random.default_rng(0)
    asked = [rows[i]["question"] for i in rng.permutation(len(rows))[:ASKED]]
    asked.sort(key=len)
    theirs = _their_speed(options.encoder, asked)
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models.items():
            for int8 in (False, True):
                path = Path(folder, f"{name} {int8}")
                calibration = paragraphs[::10] if int8 else None
                served = kbl.export_saved_model(
                    kbl.with_text(*model),
                    path,
                    int8=int8,
                    calibration=calibration,
                    verbose=0,
                )
                found, result = _served(served, asked, Path(folder))
                cosines = (found * theirs[0]).sum(1) / np.linalg.norm(found, axis=1)
                yield {
                    "side": f"{name}, {'int8' if int8 else 'float32'}",
                    "pieces": model[1].tokenizer.vocabulary_size(),
                    **result,
                    "least_cosine": round(float(cosines.min()), 6),
                }
    yield {"side": "sentence-transformers", **theirs[1]}


def _their_speed(encoder: Path, texts: list[str]) -> tuple[np.ndarray, Row]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(encoder), device="cpu")
    model.max_seq_length = LENGTH
    model.encode(texts[:BATCH])
    began = time.perf_counter()
    vectors = model.encode(texts, batch_size=BATCH)
    seconds = time.perf_counter() - began
    return vectors, {"sentences_per_second": round(len(texts) / seconds, 1)}


SERVED = """
import json, sys, time
began = time.perf_counter()
import numpy as np
import tensorflow as tf
import tensorflow_text
path, texts, vectors, size = sys.argv[1:]
texts, size = json.loads(open(texts).read()), int(size)
answer = tf.saved_model.load(path).signatures["serving_default"]
answer(text=tf.constant(texts[:1]))
first = time.perf_counter() - began
batches = [texts[i : i + size] for i in range(0, len(texts), size)]
answer(text=tf.constant(batches[-1]))
began = time.perf_counter()
found = [answer(text=tf.constant(x))["sentence_embedding"].numpy() for x in batches]
print(json.dumps({"first": first, "seconds": time.perf_counter() - began}))
np.save(vectors, np.concatenate(found))
"""


def _served(path: Path, texts: list[str], folder: Path) -> tuple[np.ndarray, Row]:
    """Returns the answers of a process that has TensorFlow only, and its times."""
    asked, vectors = folder / "texts.json", folder / "vectors.npy"
    asked.write_text(json.dumps(texts))
    command = [sys.executable, "-c", SERVED, path, asked, vectors, str(BATCH)]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    times = json.loads(ran.stdout.strip().split("\n")[-1])
    size = sum(x.stat().st_size for x in path.rglob("*") if x.is_file())
    return np.load(vectors), {
        "mib": round(size / 2**20, 1),
        "first_answer": round(times["first"], 1),
        "sentences_per_second": round(len(texts) / times["seconds"], 1),
    }


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "paragraphs": paragraphs,
    "topics": topics,
    "answers": answers,
    "sizes": sizes,
}


def means(sides: list[Row], name: str) -> tuple[float, float]:
    """Returns a score in English, and its mean over the other languages."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for side in sides:
        values[side["language"] == "en"].append(side[name])
    return mean(values[True]), mean(values[False])


def markdown(records: list[Row]) -> str:
    found: dict[str, list[Row]] = {x["part"]: x["sides"] for x in records}
    tables = []
    if sides := found.get("paragraphs"):
        names = ("mrr@10", "ndcg@10", "recall@10")
        cells = [
            [
                side["language"],
                *(f"{100 * side['scores'][x]:.1f}" for x in names),
                f"{100 * side['theirs']['mrr@10']:.1f}",
                f"{100 * side['bm25']['mrr@10']:.1f}",
            ]
            for side in sides
        ]
        average = mean(x["scores"]["mrr@10"] for x in sides)
        cells.append(["mean", f"{100 * average:.1f}", *[""] * 4])
        heads = [*names, "mrr@10, sentence-transformers", "mrr@10, BM25"]
        tables.append(table(["Paragraphs, questions in", *heads], cells))
    if sides := found.get("topics"):
        names = ("accuracy", "logistic_regression", "majority")
        cells = [
            [x["language"], str(x["rows"]), *(f"{100 * x[y]:.1f}" for y in names)]
            for x in sides
        ]
        both = [means(sides, name) for name in names]
        cells.append(["mean but English", "", *(f"{100 * x[1]:.1f}" for x in both)])
        heads = ["rows", "fine-tuned", "logistic regression", "majority class"]
        tables.append(table(["Topics, descriptions in", *heads], cells))
    if sides := found.get("answers"):
        languages = dict.fromkeys(x["language"] for x in sides)
        cells = []
        for language in languages:
            these = [x for x in sides if x["language"] == language]
            theirs = [f"{x['theirs']:.1f}" for x in these if "theirs" in x]
            scores = [f"{x['f1']:.1f}" for x in these]
            cells.append([language, *scores, ", ".join(theirs)])
        _, others = means(sides, "f1")
        cells.append(["mean but English", f"{others:.1f}", "", ""])
        heads = ["F1, half 0", "F1, half 1", "transformers, halves 0 and 1"]
        tables.append(table(["Answers, questions in", *heads], cells))
    if sides := found.get("sizes"):
        names = [*UNITS]
        cells = [[x["side"], *(str(x.get(y, "")) for y in names)] for x in sides]
        tables.append(table(["SavedModel", *UNITS.values()], cells))
    return "\n\n".join(tables)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.languages")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--lists", type=Path)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log = Log(options.results)
    for part in options.parts:

        def measure(part: str = part) -> Row:
            return {"sides": [*PARTS[part](options)]}

        log.once({"part": part}, measure)
    print(markdown(log.records))


if __name__ == "__main__":
    main()
