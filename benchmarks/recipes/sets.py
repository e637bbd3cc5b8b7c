"""The data sets: their tasks, columns and files."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import keras_bert_lite as kbl

Row = dict[str, Any]
SHORTEST = 20  # characters of a sentence without the answer
OTHERS = 3  # choices without the answer


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


def conll(column: int, scheme: str | None) -> Callable:
    """Reads a column of CoNLL-2003: parts of speech, chunks or entities."""

    def read(data: Path) -> tuple[list[Row], list[Row]]:
        paths = (data / "conll2003" / x for x in ("eng.train", "eng.testb"))
        options = {"tag_column": column, "scheme": scheme}
        return tuple(list(kbl.data.read_conll(x, **options)) for x in paths)

    return read


entities = conll(3, "bio")


def names_in(read: Callable) -> Callable:
    """Reads tagged words as texts with several labels: the names in their tags."""

    def texts(data: Path) -> tuple[list[Row], list[Row]]:
        return tuple([*map(_with_names, rows)] for rows in read(data))

    return texts


def _with_names(row: Row) -> Row:
    names = {tag.partition("-")[2] for tag in row["tags"] if tag != "O"}
    return {"text": " ".join(row["words"]), "label": sorted(names)}


def topics(data: Path) -> tuple[list[Row], list[Row]]:
    """Many classes: which of 35 articles a question is about; a fifth for the test."""
    path = data / "squad" / "dev-v2.0.json"
    found = kbl.data.read_squad(path, misplaced="find")
    rows = [{"text": x["question"], "label": x["title"]} for x in found]
    return [x for i, x in enumerate(rows) if i % 5], rows[::5]


def squad_sentences(make: Callable) -> Callable:
    """Reads questions with sentences of their contexts; a fifth for the test."""

    def read(data: Path) -> tuple[list[Row], list[Row]]:
        path, rng = data / "squad" / "dev-v1.1.json", np.random.default_rng(0)
        found = kbl.data.read_squad(path, misplaced="find")
        rows = [row for x in found if (row := make(x, rng))]
        cut = len(rows) * 4 // 5  # other articles, but for one
        return rows[:cut], rows[cut:]

    return read


def with_a_sentence(question: Row, rng: np.random.Generator) -> Row | None:
    """A pair: half of the time, the sentence has the answer."""
    right, wrong = _sentences(question)
    if not right or not wrong:
        return None
    label = "yes" if rng.integers(2) else "no"
    sentence = right[0] if label == "yes" else wrong[rng.integers(len(wrong))]
    return {"text": question["question"], "text_pair": sentence, "label": label}


def with_choices(question: Row, rng: np.random.Generator) -> Row | None:
    """Four choices: one of the sentences has the answer."""
    right, wrong = _sentences(question)
    if not right or len(wrong) < OTHERS:
        return None
    choices = [wrong[i] for i in rng.permutation(len(wrong))[:OTHERS]]
    label = int(rng.integers(OTHERS + 1))
    choices.insert(label, right[0])
    return {"text": question["question"], "choices": choices, "label": label}


def _sentences(question: Row) -> tuple[list[str], list[str]]:
    """Returns the sentences of the context, those with the answer and the others."""
    context, start = question["context"], question["answers"]["answer_start"][0]
    spans = [x.span() for x in re.finditer(r"[^.!?]+[.!?]*", context)]
    right = [x for x in spans if x[0] <= start < x[1]]
    wrong = [x for x in spans if x not in right and x[1] - x[0] > SHORTEST]
    return tuple([context[a:b].strip() for a, b in x] for x in (right, wrong))


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
    "topics": Set(CLASSES, topics, {}),
    "kinds": Set(SEVERAL, names_in(entities), {}),
    "slots": Set(SEVERAL, names_in(snips), {}),
    "snips": Set("intent_and_slots", snips, {}),
    "conll2003": Set("token_classification", entities, {}),
    "answers": Set(CLASSES, squad_sentences(with_a_sentence), {}),
    "sentences": Set("multiple_choice", squad_sentences(with_choices), {}),
    "chunks": Set("token_classification", conll(2, "bio"), {}),
    "pos": Set("token_classification", conll(1, None), {}, "accuracy"),
}
