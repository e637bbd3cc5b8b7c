"""Words with tags, and texts with an intent and tags."""

from collections.abc import Iterator
from typing import Any, ClassVar

import keras
import numpy as np

from keras_bert_lite.checks import check_label
from keras_bert_lite.finetuning.kinds.base import (
    Answers,
    Kind,
    Labels,
    Rows,
    Scores,
    Verdict,
)
from keras_bert_lite.finetuning.kinds.texts import in_order
from keras_bert_lite.tagging import has_scheme, is_bio, spans, to_bio
from keras_bert_lite.tasks.intent_and_slots import (
    INTENT,
    INTENT_AND_SLOTS,
    SLOTS,
    intent_and_slot_classifier,
)
from keras_bert_lite.tasks.task import labels_of
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.tasks.token_classification import (
    TOKEN_CLASSIFICATION,
    token_classifier,
)
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.record_values import name_of
from keras_bert_lite.training.data.records import Record

OUTSIDE = "O"
TAG_LABELS = ("labels", "slots")  # the arguments of builders that name tags


class TokenClassification(Kind):
    """Words with a tag each: entities (BIO, BIOES, IOB1), parts of speech."""

    name = TOKEN_CLASSIFICATION.name
    metrics: ClassVar[tuple[str, ...]] = (
        "f1",
        "accuracy",
    )  # F1 of entities; of tags without a scheme, accuracy
    options_kept = ("decoding",)
    epochs = 2  # most tags are rare
    rate = 2.0  # see `benchmarks.recipe_choices`

    def check(self, row: Record) -> None:
        super().check(row)
        words, tags = (row[self.column[x]] for x in ("words", "tags"))
        if not isinstance(tags, list) or len(tags) != len(words) or not words:
            raise ValueError(
                f"`tags` must be a list, one for each word. Received: {tags!r:.100} "
                f"for {words!r:.100}"
            )
        for name, values in (("words", words), ("tags", tags)):
            if not all(isinstance(x, str) and x.strip() for x in values):
                raise ValueError(
                    f"`{name}` must hold strings that are not empty. "
                    f"Received: {values!r:.200}"
                )
        for tag in set(tags):
            check_label("tags", tag)

    def classes(self, row: Record) -> list[str]:
        return row[self.column["tags"]]

    def row_labels(self, row: Record) -> Labels:
        return {"labels": row[self.column["tags"]]}

    def prepared(self, rows: Rows) -> Rows:
        """Rewrites tags of any scheme to BIO."""
        column = self.column["tags"]
        if not has_scheme(sorted({tag for row in rows for tag in row[column]})):
            return rows
        return [{**row, column: to_bio(row[column])} for row in rows]

    def prepared_labels(self, labels: Labels) -> Labels:
        """Rewrites tags of any scheme to BIO."""
        return {
            name: in_bio(values) if name in TAG_LABELS else values
            for name, values in labels.items()
        }

    def find_labels(self, rows: Rows) -> Labels:
        return {"labels": tag_labels(self.targets(rows))}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return token_classifier(encoder, **labels)

    def texts(self, rows: Rows) -> list[list[str]]:
        return [row[self.column["words"]] for row in rows]

    def targets(self, rows: Rows) -> list[list[str]]:
        return [row[self.column["tags"]] for row in rows]

    def string_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        return self.served_model(model, preprocessor, split_words=True, **options)

    def served_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        spelled = has_scheme(tags_of(self.labels_of(model)))
        decoding = "constrained" if spelled else "lenient"
        return with_text(model, preprocessor, **{"decoding": decoding, **options})

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        true, found = self.targets(rows), found_tags(self.targets(rows), answers)
        return tag_scores(true, found, tags_of(labels))

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        true = self.targets(rows)
        for tags, others in zip(true, found_tags(true, answers), strict=True):
            yield from (x for x in zip(tags, others, strict=True) if x[0] != x[1])

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        true, found = self.targets(rows), found_tags(self.targets(rows), answers)
        words = self.texts(rows)
        return [tag_verdict(*x) for x in zip(words, true, found, strict=True)]


class IntentAndSlots(TokenClassification):
    """Texts with an intent, and a tag for each word."""

    name = INTENT_AND_SLOTS.name
    # The share of texts whose intent and tags are all right; of intents; of slots.
    metrics: ClassVar[tuple[str, ...]] = ("exact", "intent_accuracy", "f1", "accuracy")

    def converted(self, row: Record) -> Record:
        name = self.column["intent"]
        intent = name_of(row[name])
        return row if intent is None else {**row, name: intent}

    def check(self, row: Record) -> None:
        super().check(row)
        intent = row[self.column["intent"]]
        if not isinstance(intent, str):
            raise ValueError(
                f"`intent` must be a name or a number. Received: {intent!r}"
            )
        check_label("intent", intent)

    def classes(self, row: Record) -> list[str]:
        return [row[self.column["intent"]]]

    def row_labels(self, row: Record) -> Labels:
        return {"intents": self.classes(row), "slots": row[self.column["tags"]]}

    def find_labels(self, rows: Rows) -> Labels:
        intents = {row[self.column["intent"]] for row in rows}
        slots = tag_labels(self.targets(rows))
        return {"intents": in_order(intents), "slots": slots}

    def labels_of(self, model: keras.Model) -> Labels:
        outputs = {"intents": INTENT.name, "slots": SLOTS.name}
        return {name: labels_of(model, output) for name, output in outputs.items()}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return intent_and_slot_classifier(encoder, **labels, pooling="mean")

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        pairs = zip(self._intents(rows), map(str, answers["label"]), strict=True)
        yield from (pair for pair in pairs if pair[0] != pair[1])
        yield from super().confused(rows, answers)

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        tags = super().verdicts(rows, answers, labels)
        pairs = zip(self._intents(rows), map(str, answers["label"]), strict=True)
        return [
            Verdict(
                verdict.text,
                f"{true}: {verdict.expected}",
                f"{found}: {verdict.answer}",
                verdict.loss + (true != found),
            )
            for verdict, (true, found) in zip(tags, pairs, strict=True)
        ]

    def _intents(self, rows: Rows) -> list[str]:
        return [row[self.column["intent"]] for row in rows]

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        true = self.targets(rows)
        found = found_tags(true, answers)
        right = np.array(self._intents(rows)) == answers["label"]
        whole = [a == b for a, b in zip(true, found, strict=True)]
        return {
            "exact": float(np.mean(right & np.array(whole))),
            "intent_accuracy": float(np.mean(right)),
            **tag_scores(true, found, tags_of(labels)),
        }


def tag_labels(tags: list[list[str]]) -> list[str]:
    """Returns the tags in order, `O` first, with an `I-X` for every `B-X`."""
    found = {tag for row in tags for tag in row}
    if has_scheme(sorted(found)):
        found |= {f"I{tag[1:]}" for tag in found if tag.startswith("B-")}
    return sorted(found, key=lambda tag: (tag != OUTSIDE, tag[2:], tag))


def in_bio(labels: list[str]) -> list[str]:
    """Returns labels of any scheme as those of BIO; their order stays if they are."""
    if not has_scheme(labels):
        return labels
    made = tag_labels([[to_bio([label])[0] for label in labels]])
    return labels if set(labels) == set(made) else made


def tags_of(labels: Labels) -> list[str]:
    return labels.get("slots") or labels["labels"]


def found_tags(true: list[list[str]], answers: Answers) -> list[list[str]]:
    """Returns the tags of each row's words, without padding.

    A word of characters that the tokenizer drops has no tag; it is outside. Tags of
    another scheme are rewritten to BIO, as `prepared` does those of the rows.
    """
    rows = [
        [str(tag) or OUTSIDE for tag in found[: len(tags)]]
        for tags, found in zip(true, answers["labels"], strict=True)
    ]
    names = sorted({tag for row in rows for tag in row})
    if not has_scheme(names) or is_bio(names):
        return rows
    return [to_bio(row) for row in rows]


def tag_scores(
    true: list[list[str]], found: list[list[str]], labels: list[str]
) -> Scores:
    """Returns the F1 of entities, as CoNLL's, if there are any, and the accuracy."""
    pairs = [
        pair
        for a, b in zip(true, found, strict=True)
        for pair in zip(a, b, strict=True)
    ]
    accuracy = float(np.mean([a == b for a, b in pairs]))
    if not has_scheme(labels):
        return {"f1": accuracy, "accuracy": accuracy}
    ours, theirs = ([set(spans(tags)) for tags in rows] for rows in (found, true))
    both = sum(len(a & b) for a, b in zip(ours, theirs, strict=True))
    expected, given = (sum(map(len, x)) for x in (theirs, ours))
    f1 = 2 * both / (expected + given) if expected + given else 0.0
    return {"f1": f1, "accuracy": accuracy}


def tag_verdict(words: list[str], true: list[str], found: list[str]) -> Verdict:
    """Judges a sentence by the number of wrong tags."""
    wrong = [i for i, (a, b) in enumerate(zip(true, found, strict=True)) if a != b]
    right, answer = (
        " ".join(f"{words[i]}/{tags[i]}" for i in wrong) for tags in (true, found)
    )
    return Verdict(" ".join(words), right, answer, float(len(wrong)))
