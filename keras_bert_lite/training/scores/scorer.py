"""What a scorer does, and the verdict on one answer."""

import abc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keras_bert_lite.training.data.row_formats import Labels, Rows

Answers = Mapping[str, Any]  # arrays by name, as a string-in model returns them
Scores = dict[str, float]
Details = dict[str, np.ndarray]  # what scores are computed from, an entry per row
WORST = 20  # rows, and pairs of labels, among a model's mistakes


class Verdict(NamedTuple):
    """How a row was answered.

    Args:
        text: The row, as a reader recognizes it.
        expected, answer: The right answer and the model's.
        loss: How wrong the answer is; rows are ranked by it.
    """

    text: str
    expected: str
    answer: str
    loss: float


class Scorer(abc.ABC):
    """Scores the answers to rows.

    Attributes:
        metrics: The scores that can decide, of which larger ones are better; the
            first does by default.
        shares: Scores that are the share of rows which are right; `details` has
            under their names which these are.
        amounts: Scores that are not between 0 and 1, but in the unit of the labels.
        needs_known_labels: Whether an answer has no score if a row's label is none of
            the model's.
    """

    metrics: ClassVar[tuple[str, ...]]
    shares: ClassVar[tuple[str, ...]] = ()
    amounts: ClassVar[tuple[str, ...]] = ()
    needs_known_labels: ClassVar[bool] = False

    @abc.abstractmethod
    def details(self, rows: Rows, answers: Answers, labels: Labels) -> Details:
        """Returns what the scores are computed from, an entry per row."""

    @abc.abstractmethod
    def combine(self, details: Details) -> Scores:
        """Returns the scores of rows by name."""

    def scores(self, rows: Rows, answers: Answers, labels: Labels) -> Scores:
        """Returns the scores of answers by name."""
        return self.combine(self.details(rows, answers, labels))

    def by_group(self, details: Details, groups: Sequence[str]) -> dict[str, Any]:
        """Returns the number of rows and the scores of each group.

        Args:
            details: Of all rows.
            groups: The group of each row.
        """
        names = np.array(groups)
        places = {x: np.flatnonzero(names == x) for x in sorted({*groups})}
        return {
            group: {
                "rows": len(rows),
                "scores": self.combine(of_rows(details, rows)),
            }
            for group, rows in places.items()
        }

    @abc.abstractmethod
    def verdicts(self, rows: Rows, answers: Answers, labels: Labels) -> list[Verdict]:
        """Judges each answer."""

    def confused(self, rows: Rows, answers: Answers) -> Iterator[tuple[str, str]]:
        """Yields the labels that were mistaken: the right one and the answer."""
        yield from ()

    def tuned(
        self, rows: Rows, answers: Answers, labels: Labels
    ) -> tuple[dict[str, Any], Answers]:
        """Chooses thresholds on held-out rows.

        Returns:
            Options of the model that takes strings, and the answers with them.
        """
        return {}, answers

    def mistakes(
        self, rows: Rows, answers: Answers, labels: Labels
    ) -> dict[str, list[dict[str, Any]]]:
        """Returns the labels that are mistaken most often, and the worst answers."""
        confused = Counter(self.confused(rows, answers)).most_common(WORST)
        return {
            "confused": [
                {"expected": expected, "answer": answer, "count": count}
                for (expected, answer), count in confused
            ],
            "worst": worst(self.verdicts(rows, answers, labels)),
        }


def of_rows(details: Details, rows: np.ndarray) -> Details:
    """Returns what the scores of some rows are computed from."""
    return {name: values[rows] for name, values in details.items()}


def worst(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Returns the answers that are most wrong."""
    most = sorted(verdicts, key=lambda x: -x.loss)[:WORST]
    return [x._asdict() for x in most if x.expected != x.answer]
