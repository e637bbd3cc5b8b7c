"""Scores of words with tags, and of texts with an intent and tags."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from keras_bert_lite.tagging import OUTSIDE, has_scheme, is_bio, spans, to_bio
from keras_bert_lite.training.data.row_formats import Labels, Rows
from keras_bert_lite.training.scores.scorer import (
    Answers,
    Details,
    Scorer,
    Scores,
    Verdict,
)

Tags = list[list[str]]


class TagScorer(Scorer):
    """Tags: F1 of entities, as CoNLL's, and the accuracy of words.

    Without entities, F1 is the accuracy.
    """

    metrics: ClassVar[tuple[str, ...]] = ("f1", "accuracy")

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        true = _tags(rows)
        answered = answered_tags(true, answers)
        pairs = [*zip(true, answered, strict=True)]
        right = [sum(map(str.__eq__, *pair)) for pair in pairs]
        words = [len(tags) for tags in true]
        # Without entities, each word counts as one of its own.
        common, spans_of_both = right, [2 * count for count in words]
        if has_scheme(labels.get("slots") or labels["labels"]):
            found = [(set(spans(a)), set(spans(b))) for a, b in pairs]
            common = [len(a & b) for a, b in found]
            spans_of_both = [len(a) + len(b) for a, b in found]
        numbers = {"right": right, "words": words}
        numbers |= {"common": common, "spans": spans_of_both}
        return {name: np.array(values) for name, values in numbers.items()}

    def combine(self, details: Details) -> Scores:
        sums = {name: values.sum() for name, values in details.items()}
        f1 = 2 * sums["common"] / sums["spans"] if sums["spans"] else 0.0
        return {"f1": float(f1), "accuracy": float(sums["right"] / sums["words"])}

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        true = _tags(rows)
        for pair in _pairs(true, answered_tags(true, answers)):
            if pair[0] != pair[1]:
                yield pair

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        answered = answered_tags(_tags(rows), answers)
        judged = zip(rows, answered, strict=True)
        return [_verdict(row["words"], row["tags"], tags) for row, tags in judged]


class IntentAndTagScorer(TagScorer):
    """Intents and tags: the share of texts that are right as a whole, and of each."""

    metrics = ("exact", "intent_accuracy", "f1", "accuracy")
    shares = ("exact", "intent_accuracy")

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        tags = super().details(rows, answers, labels)
        intent = np.array(_intents(rows)) == answers["label"]
        exact = intent & (tags["right"] == tags["words"])
        return {**tags, "intent_accuracy": intent, "exact": exact}

    def combine(self, details: Details) -> Scores:
        return {
            **{name: float(details[name].mean()) for name in self.shares},
            **super().combine(details),
        }

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        pairs = zip(_intents(rows), map(str, answers["label"]), strict=True)
        yield from (pair for pair in pairs if pair[0] != pair[1])
        yield from super().confused(rows, answers)

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        tags = super().verdicts(rows, answers, labels)
        judged = zip(tags, _intents(rows), map(str, answers["label"]), strict=True)
        return [
            Verdict(
                verdict.text,
                f"{true}: {verdict.expected}",
                f"{answer}: {verdict.answer}",
                verdict.loss + (true != answer),
            )
            for verdict, true, answer in judged
        ]


def answered_tags(true: Tags, answers: Answers) -> Tags:
    """Returns the tags of each row's words, without padding.

    A word of characters that the tokenizer drops has no tag; it is outside. Tags of
    another scheme are rewritten to BIO, as those of the rows are when they are read.
    """
    rows = [
        [str(tag) or OUTSIDE for tag in answered[: len(tags)]]
        for tags, answered in zip(true, answers["labels"], strict=True)
    ]
    names = sorted({tag for row in rows for tag in row})
    if not has_scheme(names) or is_bio(names):
        return rows
    return [to_bio(row) for row in rows]


def _tags(rows: Rows) -> Tags:
    return [row["tags"] for row in rows]


def _intents(rows: Rows) -> list[str]:
    return [row["intent"] for row in rows]


def _pairs(true: Tags, answered: Tags) -> Iterator[tuple[str, str]]:
    """Yields the tag and the answer of each word."""
    for tags, others in zip(true, answered, strict=True):
        yield from zip(tags, others, strict=True)


def _verdict(words: list[str], true: list[str], answered: list[str]) -> Verdict:
    """Judges a sentence by the number of wrong tags."""
    wrong = [i for i, (a, b) in enumerate(zip(true, answered, strict=True)) if a != b]
    right, answer = (
        " ".join(f"{words[i]}/{tags[i]}" for i in wrong) for tags in (true, answered)
    )
    return Verdict(" ".join(words), right, answer, float(len(wrong)))
