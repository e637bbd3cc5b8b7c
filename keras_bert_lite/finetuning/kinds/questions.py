"""Questions about a context, and questions with choices."""

import math
from collections import Counter
from typing import Any

import keras
import numpy as np

from keras_bert_lite.evaluation.squad_scores import squad_scores
from keras_bert_lite.finetuning.kinds.base import (
    FEW_COMPARED,
    Answers,
    Kind,
    Labels,
    Rows,
    Scores,
    Verdict,
)
from keras_bert_lite.tasks.multiple_choice import (
    MULTIPLE_CHOICE,
    multiple_choice,
)
from keras_bert_lite.tasks.question_answering import (
    QUESTION_ANSWERING,
    question_answerer,
)
from keras_bert_lite.training.data.questions import answer_span
from keras_bert_lite.training.data.records import Record

# Rows with choices from which on they are read together, whatever a linear model says:
# with 500, MiniLM learned them better so; with 200 both ways were alike
# (`benchmarks.recipe_choices`, one draw).
FEW_CHOICES = 300


class QuestionAnswering(Kind):
    """Questions whose answer is a part of a context, or is not in it."""

    name = QUESTION_ANSWERING.name
    metrics = ("f1", "exact")
    options_kept = ("no_answer_threshold",)
    # Many small steps: the head has to learn what no linear model of vectors holds.
    batch_size = 8
    rate = 2.0

    def check(self, row: Record) -> None:
        super().check(row)
        answer_span(row, self.column["context"], self.column["answers"])

    def classes(self, row: Record) -> list[str]:
        found = row[self.column["answers"]]["text"]
        return ["with an answer" if found else "without an answer"]

    def key(self, row: Record) -> tuple[str, ...]:
        return tuple(row[self.column[x]] for x in ("question", "context"))

    def first(self, rows: Rows) -> Rows:
        """Returns those with an answer, if there are any.

        With as many steps on a mixture, MiniLM hardly learned to find answers.
        """
        return [x for x in rows if x[self.column["answers"]]["text"]] or rows

    def find_labels(self, rows: Rows) -> Labels:
        return {}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return question_answerer(encoder)

    def texts(self, rows: Rows) -> dict[str, list[str]]:
        question, context = (self.column[x] for x in ("question", "context"))
        return {
            "text": [row[question] for row in rows],
            "text_pair": [row[context] for row in rows],
        }

    def tuned(
        self, rows: Rows, answers: Answers, labels: Any
    ) -> tuple[dict[str, Any], Answers]:
        if not any(not row[self.column["answers"]]["text"] for row in rows):
            return {}, answers
        best, lacking = answers["answers"][:, 0], answers["no_answer_score"]
        golds, numbered = self._numbered(rows, best)
        scores = dict(zip(numbered, lacking.tolist(), strict=True))
        threshold = squad_scores(golds, numbered, scores)["best_f1_thresh"]
        if not math.isfinite(threshold):  # it would never answer
            threshold = 0.0
        given = np.where(lacking > threshold, "", best)
        return {"no_answer_threshold": threshold}, {**answers, "answer": given}

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        report = squad_scores(*self._numbered(rows, answers["answer"]))
        counts = ("total", "HasAns_total", "NoAns_total")
        return {k.lower(): v / 100 for k, v in report.items() if k not in counts}

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        found = []
        for row, answer in zip(rows, answers["answer"], strict=True):
            f1 = squad_scores(*self._numbered([row], [answer]))["f1"]
            texts = " / ".join(row[self.column["answers"]]["text"])
            shown = row[self.column["question"]]
            expected = str(answer) if f1 == 100 else texts  # any of them is right
            found.append(Verdict(shown, expected, str(answer), 1 - f1 / 100))
        return found

    def _numbered(self, rows: Rows, answers: Any) -> tuple[list[Record], dict]:
        """Returns the right answers and the given ones, as `squad_scores` does."""
        name = self.column["answers"]
        golds = [{"id": str(i), "answers": row[name]} for i, row in enumerate(rows)]
        return golds, {str(i): str(answer) for i, answer in enumerate(answers)}


class MultipleChoice(Kind):
    """Questions with choices, one of which is right."""

    name = MULTIPLE_CHOICE.name
    metrics = ("accuracy",)
    pairs = True  # the text and each choice

    def converted(self, row: Record) -> Record:
        """Reads the index of a choice that is written in a file as a string."""
        name = self.column["label"]
        value, choices = row[name], row[self.column["choices"]]
        if not isinstance(value, str) or not value.isdecimal():
            return row
        texts = choices if isinstance(choices, list) else []
        if value in texts and texts.index(value) != int(value):
            raise ValueError(
                "`label` must be the place of a choice, from 0, as a number where "
                f"choices are numbers too. Received: {value!r} of {choices!r:.200}"
            )
        return {**row, name: int(value)}

    def check(self, row: Record) -> None:
        choices, label = (row[self.column[x]] for x in ("choices", "label"))
        several = isinstance(choices, list) and len(choices) > 1
        if not several or not all(isinstance(x, str) for x in choices):
            raise ValueError(
                "`choices` must be a list of two strings or more. "
                f"Received: {choices!r}"
            )
        place = isinstance(label, int) and not isinstance(label, bool)
        if not place or not 0 <= label < len(choices):
            raise ValueError(
                f"`label` must be the place of one of {len(choices)} choices, from 0. "
                f"Received: {label!r}"
            )
        super().check(row)

    def prepared(self, rows: Rows) -> Rows:
        name = self.column["choices"]
        counts = Counter(len(row[name]) for row in rows)
        if len(counts) > 1:
            raise ValueError(
                f"`{name}` must have as many choices in each row. Received: "
                + ", ".join(f"{x} in {n} rows" for x, n in sorted(counts.items()))
            )
        return rows

    def text_of(self, row: Record, name: str) -> str:
        """Returns the text or the longest choice: each choice has a row of its own."""
        value = row[name]
        return value if isinstance(value, str) else max(value, key=len)

    def undecided(self, rows: Rows) -> bool:
        return len(rows) < FEW_CHOICES

    def trusts_linear(self, rows: Rows) -> bool:
        return self.apart and len(rows) < FEW_COMPARED

    def find_labels(self, rows: Rows) -> Labels:
        return {}

    def build(self, encoder: keras.Model, labels: Labels) -> keras.Model:
        return multiple_choice(
            encoder, pooling="mean", head_form={}, compare=self.apart
        )

    def data_options(self, labels: Labels) -> dict[str, Any]:
        text, choices, label = self.column.values()
        columns = {"text": text, "text_pair": choices, "label": label}
        return {**columns, "compare": self.apart}

    def texts(self, rows: Rows) -> dict[str, list]:
        text, choices, _ = self.column.values()
        return {
            "text": [row[text] for row in rows],
            "text_pair": [row[choices] for row in rows],
        }

    def scores(self, rows: Rows, answers: Answers, labels: Any) -> Scores:
        true = np.array([row[self.column["label"]] for row in rows])
        return {"accuracy": float(np.mean(true == answers["choice"]))}

    def verdicts(self, rows: Rows, answers: Answers, labels: Any) -> list[Verdict]:
        text, choices, label = self.column.values()
        return [
            Verdict(
                row[text],
                row[choices][row[label]],
                row[choices][int(found)],
                1 - float(scores[row[label]]),
            )
            for row, found, scores in zip(
                rows, answers["choice"], answers["scores"], strict=True
            )
        ]
