"""Scores of answers to questions about a context, and of choices."""

import math
from typing import Any

import numpy as np

from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.row_formats import Labels, Rows
from keras_bert_lite.training.scores.scorer import (
    Answers,
    Details,
    Scorer,
    Scores,
    Verdict,
)
from keras_bert_lite.training.scores.squad import answer_scores, squad_scores


class AnswerScorer(Scorer):
    """Answers in a context: F1 and exact match, as SQuAD's script."""

    metrics = ("f1", "exact")
    shares = ("exact",)

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        scored = [
            answer_scores(row["answers"]["text"], str(answer))
            for row, answer in zip(rows, answers["answer"], strict=True)
        ]
        exact, f1 = np.array(scored).T
        answered = np.array([bool(row["answers"]["text"]) for row in rows])
        return {"exact": exact, "f1": f1, "answered": answered}

    def combine(self, details: Details) -> Scores:
        answered = details["answered"]
        parts = {"": answered | True, "hasans_": answered, "noans_": ~answered}
        return {
            f"{prefix}{name}": float(details[name][chosen].mean())
            for prefix, chosen in parts.items()
            if chosen.any()
            for name in ("exact", "f1")
        }

    def tuned(
        self, rows: Rows, answers: Answers, labels: Labels
    ) -> tuple[dict[str, Any], Answers]:
        if all(row["answers"]["text"] for row in rows):
            return {}, answers
        best, lacking = answers["answers"][:, 0], answers["no_answer_score"]
        golds, numbered = _numbered(rows, best)
        scores = dict(zip(numbered, lacking.tolist(), strict=True))
        threshold = squad_scores(golds, numbered, scores)["best_f1_thresh"]
        if not math.isfinite(threshold):  # it would never answer
            threshold = 0.0
        answered = np.where(lacking > threshold, "", best)
        return {"no_answer_threshold": threshold}, {**answers, "answer": answered}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        verdicts = []
        for row, answer in zip(rows, answers["answer"], strict=True):
            texts = row["answers"]["text"]
            f1 = answer_scores(texts, str(answer))[1]
            expected = str(answer) if f1 == 1 else " / ".join(texts)  # any is right
            verdicts.append(Verdict(row["question"], expected, str(answer), 1 - f1))
        return verdicts


class ChoiceScorer(Scorer):
    """One of several choices: the accuracy."""

    metrics = ("accuracy",)
    shares = ("accuracy",)

    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        true = np.array([row["label"] for row in rows])
        return {"accuracy": true == answers["choice"]}

    def combine(self, details: Details) -> Scores:
        return {"accuracy": float(details["accuracy"].mean())}

    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        judged = zip(rows, answers["choice"], answers["scores"], strict=True)
        return [
            Verdict(
                row["text"],
                row["choices"][row["label"]],
                row["choices"][int(choice)],
                1 - float(scores[row["label"]]),
            )
            for row, choice, scores in judged
        ]


def _numbered(rows: Rows, answers: Any) -> tuple[list[Record], dict[str, str]]:
    """Returns the right answers and the model's, as `squad_scores` reads them."""
    golds = [{"id": str(i), "answers": row["answers"]} for i, row in enumerate(rows)]
    return golds, {str(i): str(answer) for i, answer in enumerate(answers)}
