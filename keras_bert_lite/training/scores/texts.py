"""Scores of texts with a label, several labels or a number."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_formats import SEPARATOR, Labels, Rows
from keras_bert_lite.training.scores.scorer import (
    Answers,
    Details,
    Scorer,
    Scores,
    Verdict,
)

TINY = 1e-9
THRESHOLD = 0.3  # of several labels, where few rows would choose it
FEWEST = 100  # rows from which on they choose the threshold
STEP, LOWEST, HIGHEST = 0.01, 0.05, 0.95  # of the thresholds that are tried


class LabelScorer(Scorer):
    """One of several labels: accuracy, macro F1 and Matthews' correlation."""

    metrics = ("accuracy", "macro_f1", "matthews")
    shares = ("accuracy",)
    needs_known_labels = True

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        both = np.array([targets(rows), np.asarray(answers["label"], str)])
        true, answered = np.unique(both, return_inverse=True)[1].reshape(both.shape)
        return {"true": true, "answered": answered, "accuracy": true == answered}

    def combine(self, details: Details) -> Scores:
        from sklearn.metrics import f1_score  # slow to import

        true, answered = details["true"], details["answered"]
        f1 = f1_score(true, answered, average="macro", zero_division=0)
        return {
            "accuracy": float(details["accuracy"].mean()),
            "macro_f1": float(f1),
            "matthews": matthews(true, answered),
        }

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        pairs = zip(targets(rows), map(str, answers["label"]), strict=True)
        return (pair for pair in pairs if pair[0] != pair[1])

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        index = {label: i for i, label in enumerate(labels["labels"])}
        judged = zip(rows, answers["label"], answers["scores"], strict=True)
        return [
            Verdict(
                shown(row),
                row["label"],
                str(answer),
                -float(np.log(p[index[row["label"]]] + TINY)),
            )
            for row, answer, p in judged
        ]


class MultiLabelScorer(Scorer):
    """Any number of labels: micro F1, and the mean F1 of the labels that occur."""

    metrics = ("micro_f1", "macro_f1")
    needs_known_labels = True

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        named = (np.asarray(answers["labels"]) != "").astype(int)
        return {"true": indicators(rows, labels), "named": named}

    def combine(self, details: Details) -> Scores:
        from sklearn.metrics import f1_score  # slow to import

        true, named = details["true"], details["named"]
        micro = f1_score(true.ravel(), named.ravel(), zero_division=0)
        occurs = (true + named).any(0)
        each = f1_score(true, named, average=None, zero_division=0)[occurs]
        return {
            "micro_f1": float(micro),
            "macro_f1": float(each.mean()) if len(each) else 0.0,
        }

    def tuned(
        self, rows: Rows, answers: Answers, labels: Labels
    ) -> tuple[dict[str, Any], Answers]:
        threshold = THRESHOLD
        if len(rows) >= FEWEST:
            threshold = best_threshold(answers["scores"], indicators(rows, labels))
        named = np.where(answers["scores"] > threshold, labels["labels"], "")
        return {"threshold": threshold}, {**answers, "labels": named}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        right = np.where(
            indicators(rows, labels), answers["scores"], 1 - answers["scores"]
        )
        losses = -np.log(right + TINY).sum(1)
        return [
            Verdict(
                shown(row),
                SEPARATOR.join(x for x in labels["labels"] if x in row["label"]),
                SEPARATOR.join(x for x in named if x),
                float(loss),
            )
            for row, named, loss in zip(rows, answers["labels"], losses, strict=True)
        ]


class NumberScorer(Scorer):
    """Numbers: Spearman's and Pearson's correlation, and the mean absolute error."""

    metrics = ("spearman", "pearson")
    amounts = ("mean_absolute_error",)

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        return {"true": np.array(targets(rows), float), "answered": answers["score"]}

    def combine(self, details: Details) -> Scores:
        true, answered = details["true"], details["answered"]
        error = float(np.abs(true - answered).mean())
        return {**correlations(true, answered), "mean_absolute_error": error}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        return [
            Verdict(
                shown(row),
                f"{row['label']:.6g}",
                f"{answer:.6g}",
                float((row["label"] - answer) ** 2),
            )
            for row, answer in zip(rows, answers["score"], strict=True)
        ]


def targets(rows: Rows) -> list[Any]:
    return [row["label"] for row in rows]


def indicators(rows: Rows, labels: Labels) -> np.ndarray:
    """Returns 0 and 1 for each row and label, `(N, L)`."""
    return np.array([[x in y for x in labels["labels"]] for y in targets(rows)], int)


def shown(row: Record) -> str:
    return " | ".join(row[name] for name in ("text", "text_pair") if name in row)


def correlations(true: np.ndarray, answered: np.ndarray) -> Scores:
    """Returns Spearman's and Pearson's correlation; 0 if either side is constant."""
    from scipy import stats  # slow to import

    spearman = pearson = 0.0
    if np.ptp(true) != 0 and np.ptp(answered) != 0:
        spearman = float(stats.spearmanr(true, answered).statistic)
        pearson = float(np.corrcoef(true, answered)[0, 1])
    return {"spearman": spearman, "pearson": pearson}


def matthews(true: np.ndarray, answered: np.ndarray) -> float:
    """Returns the correlation of labels and answers; 0 if there is one label only."""
    from sklearn.metrics import matthews_corrcoef  # slow to import

    if len({*true, *answered}) < 2:
        return 0.0
    return float(matthews_corrcoef(true, answered))


def best_threshold(scores: np.ndarray, targets: np.ndarray) -> float:
    """Returns the threshold with the best micro F1, the lowest of equals.

    One threshold serves all labels: one for each would be fitted to a handful of rows.

    Args:
        scores: Probabilities `(N, L)`.
        targets: 0 and 1 `(N, L)`.
    """
    candidates = np.round(np.arange(LOWEST, HIGHEST + STEP / 2, STEP), 2)
    named = [scores > threshold for threshold in candidates]
    f1 = [2 * (x * targets).sum() / max(x.sum() + targets.sum(), 1) for x in named]
    return float(candidates[int(np.argmax(f1))])
