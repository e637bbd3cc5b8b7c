"""The data sets: their tasks, columns and files."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras_bert_lite as kbl

Row = dict[str, Any]
ENTITIES = ("PER", "ORG", "LOC", "MISC")


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
    """Few labels of which a row has several: the kinds of a sentence's entities."""
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


def slots(data: Path) -> tuple[list[Row], list[Row]]:
    """Many labels: the names of the slots that a sentence has."""
    return tuple(
        [
            {
                "text": " ".join(x["words"]),
                "label": sorted({t[2:] for t in x["tags"] if t != "O"}),
            }
            for x in rows
        ]
        for rows in snips(data)
    )


def topics(data: Path) -> tuple[list[Row], list[Row]]:
    """Many classes: which of 35 articles a question is about; a fifth for the test."""
    path = data / "squad" / "dev-v2.0.json"
    found = kbl.data.read_squad(path, misplaced="find")
    rows = [{"text": x["question"], "label": x["title"]} for x in found]
    return [x for i, x in enumerate(rows) if i % 5], rows[::5]


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
    "kinds": Set(SEVERAL, kinds, {}),
    "slots": Set(SEVERAL, slots, {}),
    "snips": Set("intent_and_slots", snips, {}),
    "conll2003": Set("token_classification", conll, {}),
}
