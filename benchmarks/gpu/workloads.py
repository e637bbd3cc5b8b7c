"""What is trained on: the same tokens for all sides, laid into rows in several ways."""

import dataclasses
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

TASKS = ("masked words", "classifier")
ROWS = ("padded", "real lengths")
FILES = {128: "glue/SST-2/train.tsv", 512: "wikitext2/valid.txt"}
VOCABULARY = "vocabularies/bert-base-uncased/vocab.txt"
MASKED = 0.15
BUCKETS = (32, 64, 128, 256, 512)
Arrays = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Workload:
    """A task, the longest row, and how rows are laid out."""

    task: str
    length: int
    rows: str

    @property
    def name(self) -> str:
        return f"{self.task}, {self.length}, {self.rows}"

    @property
    def real(self) -> bool:
        return self.rows == "real lengths"


@dataclasses.dataclass(frozen=True)
class Text:
    """The ids of a text with `[CLS]` and `[SEP]`, those to predict, and a label.

    `places` are the places of the ids that are hidden, `hidden` what stood there.
    """

    ids: list[int]
    places: list[int]
    hidden: list[int]
    label: int


Step = list[Text]


def workloads() -> list[Workload]:
    return [Workload(*x) for x in itertools.product(TASKS, FILES, ROWS)]


def read(data: Path, length: int) -> Iterator[str]:
    """Yields the texts that rows of a length are made of."""
    lines = (data / FILES[length]).read_text(encoding="utf-8").splitlines()
    if length == 128:
        yield from (line.split("\t")[0] for line in lines[1:])
    else:  # headings are short and begin with "="
        yield from (x for x in map(str.strip, lines) if x and not x.startswith("="))


def write_steps(data: Path, length: int, texts: int, steps: int, path: Path) -> None:
    """Tokenizes texts, hides words, and writes the steps as JSON.

    Args:
        data: The folder of data sets.
        length: The most tokens of a text.
        texts: The texts of a step.
        steps: How many.
        path: The file.
    """
    import keras_bert_lite as kbl

    vocabulary = (data / VOCABULARY).read_text(encoding="utf-8").splitlines()
    tokenizer = kbl.WordPieceTokenizer(vocabulary)
    strings = list(itertools.islice(read(data, length), texts * steps))
    if len(strings) < texts * steps:
        raise SystemExit(f"{FILES[length]} has {len(strings)} texts, too few")
    rng = np.random.default_rng(0)
    cls, sep = tokenizer.cls_id, tokenizer.sep_id
    mask = tokenizer.token_to_id("[MASK]")
    made = []
    for i, ids in enumerate(tokenizer(strings).to_list()):
        ids = [cls, *ids[: length - 2], sep]
        made.append(_hidden(ids, mask, rng) | {"label": i % 2})
    parts = [made[i : i + texts] for i in range(0, len(made), texts)]
    value = {"vocabulary_size": len(vocabulary), "steps": parts}
    path.write_text(json.dumps(value), encoding="utf-8")


def read_steps(path: Path) -> tuple[int, list[Step]]:
    """Returns the size of the vocabulary and the steps."""
    value = json.loads(path.read_text(encoding="utf-8"))
    steps = [[Text(**text) for text in step] for step in value["steps"]]
    return value["vocabulary_size"], steps


def tokens(steps: list[Step]) -> int:
    """Returns how many tokens are trained on."""
    return sum(len(text.ids) for step in steps for text in step)


def padded(step: Step, width: int) -> Arrays:
    """Lays each text into a row; see `rows`."""
    return rows([[text] for text in step], width, max(1, int(MASKED * width)))


def bucketed(step: Step, length: int) -> Arrays:
    """The same, in rows of the least bucket that holds all of them."""
    longest = max(len(text.ids) for text in step)
    return padded(step, min(x for x in (*BUCKETS, length) if x >= longest))


def packed(steps: list[Step], length: int) -> list[Arrays]:
    """Lays several texts into a row; all steps have as many rows.

    A text goes into the first row with room for it, the longest first.
    """
    found = [_packed(step, length) for step in steps]
    most = max(map(len, found))
    places = max(sum(len(x.places) for x in row) for step in found for row in step)
    return [rows(step + [[]] * (most - len(step)), length, places) for step in found]


def _packed(step: Step, length: int) -> list[Step]:
    made: list[Step] = []
    for text in sorted(step, key=lambda x: -len(x.ids)):
        room = (x for x in made if _size(x) + len(text.ids) <= length)
        row = next(room, None)
        if row is None:
            made.append(row := [])
        row.append(text)
    return made


def rows(texts: list[Step], width: int, places: int) -> Arrays:
    """Lays texts into rows.

    Args:
        texts: Those of each row.
        width: The tokens of a row, S.
        places: The hidden words of a row, P.

    Returns:
        `token_ids`, `padding_mask`, `sequence_ids` (which text, from 1) of shape
        `(B, S)`; `masked_positions`, `hidden` and their `weights`, `(B, P)`; and
        `labels`, of the first text of each row.
    """
    found: Arrays = {
        name: np.zeros((len(texts), width), np.int32)
        for name in ("token_ids", "sequence_ids")
    }
    for name in ("masked_positions", "hidden", "weights"):
        found[name] = np.zeros((len(texts), places), np.int32)
    for i, row in enumerate(texts):
        ids = [x for text in row for x in text.ids]
        numbers = [k for k, text in enumerate(row, 1) for _ in text.ids]
        starts = itertools.accumulate((len(x.ids) for x in row), initial=0)
        where = [s + p for s, x in zip(starts, row, strict=False) for p in x.places]
        hidden = [x for text in row for x in text.hidden]
        _put(found, i, token_ids=ids, sequence_ids=numbers)
        _put(found, i, masked_positions=where, hidden=hidden, weights=[1] * len(where))
    found["padding_mask"] = found["sequence_ids"] > 0
    found["labels"] = np.array([row[0].label if row else 0 for row in texts], np.int32)
    return found


def _put(found: Arrays, row: int, **values: list[int]) -> None:
    for name, value in values.items():
        found[name][row, : len(value)] = value


def _size(row: Step) -> int:
    return sum(len(text.ids) for text in row)


def _hidden(ids: list[int], mask: int, rng: np.random.Generator) -> dict[str, Any]:
    """Hides a share of the words, at least one, behind `[MASK]`."""
    inner = np.arange(1, len(ids) - 1)
    if not len(inner):
        return {"ids": ids, "places": [], "hidden": []}
    number = max(1, int(MASKED * len(inner)))
    places = sorted(rng.choice(inner, number, replace=False).tolist())
    seen = [mask if i in set(places) else x for i, x in enumerate(ids)]
    return {"ids": seen, "places": places, "hidden": [ids[i] for i in places]}
