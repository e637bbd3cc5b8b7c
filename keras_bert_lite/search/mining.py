"""Hard negatives: texts that a search takes for the right one."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keras_bert_lite.checks import check_not_negative, check_positive, check_rate
from keras_bert_lite.tasks.registry import task_of
from keras_bert_lite.tasks.sentence_embedding import (
    DOCUMENT,
    QUERY,
    SENTENCE_EMBEDDING,
    embed,
)
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.data.record_values import check_candidates, text_of
from keras_bert_lite.training.data.records import Record, records
from keras_bert_lite.training.scores.sentences import all_cosines, best_places


def mine_negatives(
    source: Any,
    texts: Sequence[str] | None = None,
    encoder: TextModel | None = None,
    negatives: int = 3,
    skip: int = 0,
    margin: float | None = None,
    query: str = "query",
    positive: str = "positive",
    batch_size: int = 32,
) -> list[Record]:
    """Finds texts that are like the right one for a query, but are not right.

    A ranker or a sentence encoder learns more from them than from texts at random.
    All scores of a query's texts are held in memory for 64 queries at a time.

    Args:
        source: Pairs of a query and a text that is right for it, one per record; see
            `data.read` for files. A query with several right texts has a record for
            each; all of them are left out of its negatives.
        texts: The texts to choose from; `None`: the right texts of all queries.
        encoder: A `sentence_encoder` that takes strings, whose vectors are compared
            by their cosine; if it takes `prompt_name`, queries and texts begin with
            their prompts. `None`: texts are ranked by their words, with BM25; those
            that share none with the query come last.
        negatives: How many negatives each record has, at most: the best ones.
        skip: How many of the best are left out first: they may be right, although
            nobody said so.
        margin: By which share of the right text's score a negative must score lower,
            from 0 up to 1: a text that scores higher may be right as well. `None`: it
            may have any score.
        query, positive: The columns.
        batch_size: Texts that are encoded at once.

    Returns:
        Records for `ranking_dataset` and `finetune("ranking")`: `query`, `candidates`,
        the right text first, and `grades`, 1 and 0. A record for which there are no
        negatives is left out.

    Raises:
        TypeError: If `texts` is a string.
        ValueError: If an argument is invalid, or a record lacks a column.

    Example:

    >>> pairs = [{"query": "rain today", "positive": "it will rain"},
    ...          {"query": "who sings", "positive": "she sings today"}]
    >>> kbl.data.mine_negatives(pairs, negatives=1)[0]["candidates"]
    ['it will rain', 'she sings today']
    """
    check_positive("negatives", negatives)
    check_not_negative("skip", skip)
    if margin is not None:
        check_rate("margin", margin)
    pairs = [_pair(record, query, positive) for record in records(source)]
    if isinstance(texts, str):
        raise TypeError(f"`texts` must be a list of strings. Received: {texts!r}")
    answers: dict[str, set[str]] = {}
    for text, answer in pairs:
        answers.setdefault(text, set()).add(answer)
    offered = dict.fromkeys([y for _, y in pairs] if texts is None else texts)
    known = list(dict.fromkeys([*(y for _, y in pairs), *offered]))
    check_candidates(known, "texts")
    place = {text: i for i, text in enumerate(known)}
    not_offered = np.array([text not in offered for text in known])
    made = []
    scored = _scores([text for text, _ in pairs], known, encoder, batch_size)
    for (text, answer), scores in zip(pairs, scored, strict=True):
        excluded = not_offered.copy()
        excluded[[place[x] for x in answers[text]]] = True
        if margin is not None:
            highest = scores[place[answer]]
            excluded |= scores > highest - margin * abs(highest)
        offered_scores = np.where(excluded, -np.inf, scores)
        best = best_places(offered_scores, skip + negatives)[skip:]
        if len(best):
            candidates = [answer, *(known[i] for i in best)]
            grades = [1, *[0] * len(best)]
            made.append({"query": text, "candidates": candidates, "grades": grades})
    return made


def _pair(record: Record, query: str, positive: str) -> tuple[str, str]:
    text, answer = (
        text_of(record, column, argument).item().decode()
        for column, argument in ((query, "query"), (positive, "positive"))
    )
    return text, answer


def _scores(
    queries: list[str], texts: list[str], encoder: TextModel | None, batch_size: int
) -> Iterator[np.ndarray]:
    """Yields the scores of all texts for each query, `(N,)`."""
    if encoder is None:
        yield from BM25(texts).all_scores(queries)
        return
    task = task_of(encoder)
    if not isinstance(encoder, TextModel) or task is not SENTENCE_EMBEDDING:
        raise ValueError(
            "`encoder` must be a `sentence_encoder` that takes strings, made by "
            f"`with_text`, or None. Received: {encoder!r}"
        )
    distinct = list(dict.fromkeys(queries))
    place = {text: i for i, text in enumerate(distinct)}
    asked = embed(encoder, distinct, QUERY, batch_size, "encoder")
    vectors = embed(encoder, texts, DOCUMENT, batch_size, "encoder")
    yield from all_cosines(asked[[place[x] for x in queries]], vectors)
