"""Texts and pairs of texts with a label, several labels or a number."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import keras
import numpy as np

from keras_bert_lite.checks import check_above_zero, check_label
from keras_bert_lite.finetuning.kinds.base import (
    FEW_COMPARED,
    Answers,
    Kind,
    Labels,
    Rows,
    Scores,
    Verdict,
)
from keras_bert_lite.finetuning.thresholds import best_threshold
from keras_bert_lite.tasks.classification import (
    MULTI_LABEL_CLASSIFICATION,
    REGRESSION,
    TEXT_CLASSIFICATION,
    multi_label_classifier,
    regressor,
    text_classifier,
)
from keras_bert_lite.tasks.text_model import TextModel, with_text
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.record_values import name_of
from keras_bert_lite.training.data.records import Record

BALANCED = "balanced"
SEPARATOR = ","  # between the labels of a row in a table
TINY = 1e-9
LARGEST = 1e15  # number of a row; the square of it is still a float32
DEFAULT = 0.3  # the threshold of several labels, where few rows would choose it
FEWEST = 100
FEW_PAIRS = 100  # below which fine-tuning made their linear models no better, or worse


class _Texts(Kind):
    options: ClassVar[dict[str, Any]] = {}

    @property
    def form(self) -> dict[str, Any]:
        """Arguments of the builder: a head that a linear model can fill."""
        return {"pooling": "mean", "head_form": {}, "compare": self.apart}

    def data_options(self, labels: Labels) -> dict[str, Any]:
        options = {**super().data_options(labels), **self.options}
        if self.apart:
            options["text"] = [options["text"], options.pop("text_pair")]
        return options

    def texts(self, rows: Rows) -> dict[str, list[str]]:
        names = ("text", "text_pair")
        columns = {x: c for x in names if (c := self.column[x]) is not None}
        return {x: [row[column] for row in rows] for x, column in columns.items()}

    def string_model(
        self, model: keras.Model, preprocessor: Preprocessor, **options: Any
    ) -> TextModel:
        pairs = self.column["text_pair"] is not None
        return with_text(model, preprocessor, pairs=pairs, **options)

    def targets(self, rows: Rows) -> list[Any]:
        return [row[self.column["label"]] for row in rows]

    def softens(self) -> bool:
        """Texts are few, so it is right on nearly all; compared ones learned worse."""
        return not self.apart

    def trusts_linear(self, rows: Rows) -> bool:
        return self.column["text_pair"] is not None and len(rows) < FEW_PAIRS

    def shown(self, row: Record) -> str:
        return " | ".join(str(row[name]) for name in self.text_columns)


class TextClassification(_Texts):
    """Texts with one of several labels."""

    name = TEXT_CLASSIFICATION.name
    metrics = ("accuracy", "macro_f1", "matthews")
    needs_known_labels = True

    def converted(self, row: Record) -> Record:
        name = self.column["label"]
        label = name_of(row[name])
        if label is None:
            raise ValueError(
                f"`label` must be a name or a number. Received: {row[name]!r}"
            )
        check_label("label", label)
        return {**row, name: label}

    def classes(self, row: Record) -> list[str]:
        return [row[self.column["label"]]]

    def row_labels(self, row: Record) -> Labels:
        return {"labels": self.classes(row)}

    def class_weights(
        self, given: str | Mapping[str, float], rows: Rows, labels: Labels
    ) -> list[float]:
        names = labels["labels"]
        if isinstance(given, Mapping):
            _check_weights(given, names)
            weights = {name_of(label): weight for label, weight in given.items()}
            return [float(weights.get(name, 1)) for name in names]
        if given != BALANCED:
            raise ValueError(
                f"`class_weight` must be {BALANCED!r} or a dictionary of numbers by "
                f"label. Received: {given!r}"
            )
        counts = Counter(self.targets(rows))
        mean = len(rows) / len(counts)
        return [mean / counts[name] if counts[name] else 1.0 for name in names]

    def find_labels(self, rows: Rows) -> Labels:
        return {"labels": in_order(set(self.targets(rows)))}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return text_classifier(encoder, **labels, **self.form)

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        from sklearn.metrics import f1_score  # slow to import

        true, found = np.array(self.targets(rows)), answers["label"]
        return {
            "accuracy": float(np.mean(true == found)),
            "macro_f1": float(f1_score(true, found, average="macro", zero_division=0)),
            "matthews": matthews(true, found),
        }

    def trusts_linear(self, rows: Rows) -> bool:
        compared = self.apart and len(rows) < FEW_COMPARED
        return compared or super().trusts_linear(rows)

    def few_of_a_label(self, rows: Rows, most: int) -> bool:
        count = len(set(self.targets(rows)))
        alone = self.column["text_pair"] is None
        return alone and count > 1 and len(rows) <= most * count

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        pairs = zip(self.targets(rows), map(str, answers["label"]), strict=True)
        return (pair for pair in pairs if pair[0] != pair[1])

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        index = {label: i for i, label in enumerate(labels["labels"])}
        return [
            Verdict(
                self.shown(row), true, str(found), -float(np.log(p[index[true]] + TINY))
            )
            for row, true, found, p in zip(
                rows,
                self.targets(rows),
                answers["label"],
                answers["scores"],
                strict=True,
            )
        ]


class MultiLabelClassification(_Texts):
    """Texts with any number of labels."""

    name = MULTI_LABEL_CLASSIFICATION.name
    metrics = ("micro_f1", "macro_f1")
    options: ClassVar = {"multi_label": True}
    options_kept = ("threshold",)
    needs_known_labels = True
    epochs = 2  # many labels are rare
    rate = 2.0  # see `benchmarks.recipe_choices`

    def converted(self, row: Record) -> Record:
        name = self.column["label"]
        value = row[name]
        if not isinstance(value, str):
            return row
        parts = [part.strip() for part in value.split(SEPARATOR)]
        return {**row, name: [part for part in parts if part]}

    def check(self, row: Record) -> None:
        super().check(row)
        labels = row[self.column["label"]]
        if not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
            raise ValueError(
                "`label` must be a list of names, or names between commas. "
                f"Received: {labels!r}"
            )
        for label in labels:
            check_label("label", label)

    def classes(self, row: Record) -> list[str]:
        return sorted(row[self.column["label"]])

    def row_labels(self, row: Record) -> Labels:
        return {"labels": self.classes(row)}

    def expected(self, row: Record) -> Any:
        return self.classes(row)  # in any order

    def find_labels(self, rows: Rows) -> Labels:
        found = {label for labels in self.targets(rows) for label in labels}
        return {"labels": in_order(found)}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return multi_label_classifier(encoder, **labels, **self.form)

    def tuned(
        self, rows: Rows, answers: Answers, labels: Any
    ) -> tuple[dict[str, Any], Answers]:
        threshold = DEFAULT
        if len(rows) >= FEWEST:
            targets = self.indicators(rows, labels)
            threshold = best_threshold(answers["scores"], targets)
        named = np.where(answers["scores"] > threshold, labels["labels"], "")
        return {"threshold": threshold}, {**answers, "labels": named}

    def indicators(self, rows: Rows, labels: Any) -> np.ndarray:
        """Returns 0 and 1 for each row and label."""
        return np.array(
            [[x in row for x in labels["labels"]] for row in self.targets(rows)], int
        )

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        from sklearn.metrics import f1_score  # slow to import

        true, found = self.indicators(rows, labels), answers["labels"] != ""
        columns = [x for x in zip(true.T, found.T, strict=True) if np.any(x)]
        each = [f1_score(t, p, zero_division=0) for t, p in columns]
        return {
            "micro_f1": float(f1_score(true.ravel(), found.ravel(), zero_division=0)),
            "macro_f1": float(np.mean(each)) if each else 0.0,
        }

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        true = self.indicators(rows, labels)
        right = np.where(true, answers["scores"], 1 - answers["scores"])
        losses = -np.log(right + TINY).sum(1)
        return [
            Verdict(
                self.shown(row),
                SEPARATOR.join(x for x in labels["labels"] if x in expected),
                SEPARATOR.join(x for x in found if x),
                float(loss),
            )
            for row, expected, found, loss in zip(
                rows, self.targets(rows), answers["labels"], losses, strict=True
            )
        ]


class Regression(_Texts):
    """Texts with a number."""

    name = REGRESSION.name
    metrics = ("spearman", "pearson")
    amounts = ("mean_absolute_error",)

    def converted(self, row: Record) -> Record:
        name = self.column["label"]
        if not isinstance(row[name], str):
            return row
        try:
            return {**row, name: float(row[name])}
        except ValueError:
            raise ValueError(
                f"`label` must be a number. Received: {row[name]!r}"
            ) from None

    def check(self, row: Record) -> None:
        super().check(row)
        value = row[self.column["label"]]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        # `not <=` refuses NaN too.
        if not number or not abs(value) <= LARGEST:
            raise ValueError(
                f"`label` must be a number of up to {LARGEST:g}. Received: {value!r}"
            )

    def find_labels(self, rows: Rows) -> Labels:
        return {}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return regressor(encoder, **self.form)

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        from scipy import stats  # slow to import

        true, found = np.array(self.targets(rows), float), answers["score"]
        constant = np.ptp(true) == 0 or np.ptp(found) == 0
        return {
            "spearman": 0.0
            if constant
            else float(stats.spearmanr(true, found).statistic),
            "pearson": 0.0 if constant else float(np.corrcoef(true, found)[0, 1]),
            "mean_absolute_error": float(np.abs(true - found).mean()),
        }

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        return [
            Verdict(
                self.shown(row), f"{true:g}", f"{found:.4g}", float((true - found) ** 2)
            )
            for row, true, found in zip(
                rows, self.targets(rows), answers["score"], strict=True
            )
        ]


def _check_weights(given: Mapping[Any, float], labels: list[str]) -> None:
    if unknown := [x for x in given if name_of(x) not in labels]:
        raise ValueError(
            f"`class_weight` must be of the labels {labels}. Received: {unknown}"
        )
    for label, weight in given.items():
        check_above_zero(f"class_weight[{label!r}]", weight)


def in_order(labels: set[str]) -> list[str]:
    """Sorts labels, those that are whole numbers by their value."""
    if all(re.fullmatch("-?[0-9]+", x) for x in labels):
        return sorted(labels, key=lambda x: (int(x), x))
    return sorted(labels)


def matthews(true: np.ndarray, found: np.ndarray) -> float:
    """Returns the correlation of labels and answers; 0 if there is one label only."""
    from sklearn.metrics import matthews_corrcoef  # slow to import

    if len({*true, *found}) < 2:
        return 0.0
    return float(matthews_corrcoef(true, found))
