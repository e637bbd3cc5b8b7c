"""Queries, texts to find, and judgements of which of them are relevant."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.data.readers.csv_files import read_csv
from keras_bert_lite.training.data.readers.jsonl import read_jsonl
from keras_bert_lite.training.data.readers.lines import read_lines
from keras_bert_lite.training.data.records import Record

CORPUS, QUERIES, JUDGEMENTS = "corpus", "queries", "qrels"  # files of BEIR
HEADER = ["query-id", "corpus-id", "score"]
SHOWN = 3  # ids in an error message
MOST = 4  # relevant texts of a list, and others


@dataclasses.dataclass(frozen=True)
class RetrievalSet:
    """Queries, a corpus to search, and judgements of which texts are relevant.

    `kbl.evaluate` scores a search with it, and `kbl.finetune` trains rankers and
    sentence encoders on it. It is held in memory.

    Args:
        queries: The queries by their ids.
        corpus: The texts by their ids.
        judgements: By the id of a query, the grades of texts by their ids; those with a
            grade above 0 are relevant. Queries without a relevant text are left out.

    Raises:
        ValueError: If a judgement names an unknown id, or a grade is negative or not a
            number, or no text is relevant.

    Example:

    >>> data = kbl.data.RetrievalSet(
    ...     queries={"q": "rain"},
    ...     corpus={"a": "it is wet", "b": "it is dry"},
    ...     judgements={"q": {"a": 1}},
    ... )
    >>> data.pairs()
    [{'text': 'rain', 'text_pair': 'it is wet'}]
    """

    queries: Mapping[str, str]
    corpus: Mapping[str, str]
    judgements: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        texts = {x for judged in self.judgements.values() for x in judged}
        _check_known("queries", self.queries, self.judgements)
        _check_known("corpus", self.corpus, texts)
        for query, judged in self.judgements.items():
            for text, grade in judged.items():
                number = isinstance(grade, (int, float)) and math.isfinite(grade)
                if not number or grade < 0:
                    raise ValueError(
                        "`judgements` must be numbers from 0. Received: "
                        f"{grade!r} for {query!r} and {text!r}"
                    )
        if not self.answerable:
            raise ValueError(
                "`judgements` must name a relevant text (a grade above 0). "
                f"Received: {len(texts)} judged texts, none of them relevant"
            )

    @property
    def answerable(self) -> list[str]:
        """The ids of the queries that have a relevant text."""
        return [query for query, x in self.judgements.items() if any(x.values())]

    def pairs(self) -> list[Record]:
        """Returns each query with each of its relevant texts."""
        return [
            {"text": self.queries[query], "text_pair": self.corpus[text]}
            for query in self.answerable
            for text, grade in self.judgements[query].items()
            if grade
        ]

    def lists(self) -> list[Record]:
        """Returns each query with its best texts and others, to train a ranker.

        These are up to four relevant texts, those with the highest grades, and up to
        four others: judged ones first, then those that BM25 takes for the best.
        """
        ids, queries = [*self.corpus], self.answerable
        most = max(len(self.judgements[query]) for query in queries)
        words = BM25([*self.corpus.values()])
        found, _ = words.rank([self.queries[x] for x in queries], MOST + most)
        return [
            self._list(query, [ids[i] for i in places])
            for query, places in zip(queries, found, strict=True)
        ]

    def _list(self, query: str, found: list[str]) -> Record:
        judged = self.judgements[query]
        best = sorted((x for x in judged if judged[x]), key=lambda x: -judged[x])[:MOST]
        others = [x for x in judged if not judged[x]]
        others = [*others, *(x for x in found if x not in judged)][:MOST]
        texts = [*best, *others]
        return {
            "query": self.queries[query],
            "candidates": [self.corpus[x] for x in texts],
            "grades": [judged.get(x, 0) for x in texts],
        }


def read_beir(path: str | PathLike) -> RetrievalSet:
    """Reads a retrieval set in the files of BEIR.

    Args:
        path: A folder with `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl`
            (`_id`, `text`), and judgements, a table with `query-id`, `corpus-id` and
            `score`: `qrels.tsv`, or the only table in the folder `qrels`. Or the path
            of the judgements, such as `qrels/train.tsv`. A title comes before its text.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If there are several tables of judgements, a line is invalid, or an
            id is unknown or occurs twice.

    Reference: [Thakur et al., 2021](https://arxiv.org/abs/2104.08663).
    """
    path = Path(path)
    folder, judgements = _files(path)
    grades: dict[str, dict[str, float]] = {}
    for record in read_csv(judgements, quoting=False):
        if [*record] != HEADER:
            raise ValueError(
                f"{judgements}: must have the columns {HEADER}. Received: {[*record]}"
            )
        query, text, score = record.values()
        try:
            grades.setdefault(query, {})[text] = float(score)
        except ValueError:
            raise ValueError(
                f"{judgements}: `score` must be a number. Received: {score!r} for "
                f"{query!r} and {text!r}"
            ) from None
    queries, corpus = (
        beir_texts(read_jsonl(path, required=["_id", "text"]), path)
        for path in (folder / f"{QUERIES}.jsonl", folder / f"{CORPUS}.jsonl")
    )
    return RetrievalSet(queries, corpus, grades)


def retrieval_set(source: Any) -> RetrievalSet | None:
    """Returns a retrieval set, or what BEIR's files hold; `None` if it is neither."""
    if isinstance(source, RetrievalSet):
        return source
    if not isinstance(source, (str, PathLike)) or "://" in fspath(source):
        return None
    path = Path(source)
    beir = (path / f"{CORPUS}.jsonl").is_file() if path.is_dir() else _judges(path)
    return read_beir(path) if beir else None


def _judges(path: Path) -> bool:
    """Whether a file is a table of BEIR's judgements."""
    if path.suffix != ".tsv" or not path.is_file():
        return False
    line = next(read_lines(path), None)
    return line is not None and line.text.split("\t") == HEADER


def _files(path: Path) -> tuple[Path, Path]:
    """Returns the folder of the texts and the file of the judgements."""
    if path.is_dir():
        tables = sorted(path.glob(f"{JUDGEMENTS}.tsv"))
        tables = tables or sorted(path.glob(f"{JUDGEMENTS}/*.tsv"))
        if len(tables) != 1:
            raise ValueError(
                f"`path` must have one table of judgements, {JUDGEMENTS}.tsv or "
                f"{JUDGEMENTS}/*.tsv; name one of several itself. Received: "
                f"{str(path)!r}, with {[x.name for x in tables] or 'none'}"
            )
        return path, tables[0]
    for folder in (path.parent, path.parent.parent):
        if (folder / f"{CORPUS}.jsonl").is_file():
            return folder, path
    raise FileNotFoundError(
        f"`path` must be BEIR's, with {CORPUS}.jsonl and {QUERIES}.jsonl in the same "
        f"folder or the one above. Received: {str(path)!r}"
    )


def beir_texts(records: Iterable[Record], path: Path) -> dict[str, str]:
    """Returns the texts of BEIR's corpus or queries by their ids, behind their titles.

    Args:
        records: `_id`, `text` and perhaps `title`.
        path: Their file, for messages.
    """
    texts: dict[str, str] = {}
    for record in records:
        name, title = str(record.get("_id")), record.get("title") or ""
        text = record.get("text")
        if not isinstance(text, str) or not isinstance(title, str):
            raise ValueError(
                f"{path}: `text` and `title` must be strings. Received: {name!r} with "
                f"{text!r:.100} and {title!r:.100}"
            )
        if name in texts:
            raise ValueError(f"{path}: `_id` must differ. Received: {name!r} twice")
        texts[name] = f"{title} {text}".strip()
    return texts


def _check_known(argument: str, known: Mapping[str, str], named: Any) -> None:
    unknown = [x for x in named if x not in known]
    if unknown:
        shown = ", ".join(map(repr, unknown[:SHOWN]))
        more = ", ..." if len(unknown) > SHOWN else ""
        raise ValueError(
            f"`judgements` must name ids of `{argument}`. Received: {shown}{more}, "
            f"{len(unknown)} in all"
        )
