"""The attributions of a prediction, and how they look."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from keras_bert_lite.visualization import rendering
from keras_bert_lite.visualization.reading import Piece


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What each piece of a text adds to a score of a model; see `explain`.

    Attributes:
        texts: The texts: one, or two of a pair. Words are joined by spaces.
        pieces: The P pieces of the texts, with their characters and bytes.
        attributions: What each piece adds to the score, float64, `(P,)`. A piece that
            the model did not read, because the text is too long, adds 0.
        read: Which pieces the model read for this score, bool, `(P,)`.
        prediction: The model's answer, by name.
        target: The name of the explained output: a label, a tag, or a part of an
            answer (`"start"`, `"end"` or their sum, `"span"`).
        span: The characters of the last text that it is about; `None`: all texts, or
            no answer.
        score: The explained logit (or number).
        baseline_score: The same for the baseline.
        error: The completeness error: the absolute difference between the sum of
            the attributions and `score - baseline_score`, relative to the latter.
        steps: The number of points of the integral.
    """

    texts: tuple[str, ...]
    pieces: tuple[Piece, ...]
    attributions: np.ndarray
    read: np.ndarray
    prediction: dict[str, Any]
    target: str
    span: tuple[int, int] | None
    score: float
    baseline_score: float
    error: float
    steps: int

    @property
    def characters(self) -> tuple[np.ndarray, ...]:
        """The attributions of each text's characters (code points).

        A piece's is divided evenly among its characters; one without any, such as the
        mark of a space, counts for the next character. The sums are those of the
        pieces. Characters outside all pieces have 0.
        """
        found = tuple(np.zeros(len(text)) for text in self.texts)
        for piece, value in zip(self.pieces, self.attributions, strict=True):
            places = self._places(piece)
            found[piece.text][places.start : places.stop] += value / len(places)
        return found

    def to_ansi(self) -> str:
        """Returns coloured text for a terminal with 24-bit colours.

        Orange pieces raise the score, blue ones lower it; control characters are
        shown as symbols.
        """
        lines = [rendering.ansi_runs(runs) for runs in self._runs()]
        return "\n".join([rendering.plain_head(self), *lines])

    def to_html(self) -> str:
        """Returns a page in HTML, which needs no other file.

        Orange pieces raise the score, blue ones lower it; the number of a piece is
        shown under the pointer.
        """
        return rendering.page(self._repr_html_())

    def _repr_html_(self) -> str:
        return rendering.html(self, self._runs())

    def _places(self, piece: Piece) -> range:
        """Returns the characters of a piece, at least one."""
        if piece.end > piece.start:
            return range(piece.start, piece.end)
        place = min(piece.start, len(self.texts[piece.text]) - 1)
        return range(place, place + 1)

    def _runs(self) -> list[list["Run"]]:
        return [list(self._runs_of(i)) for i in range(len(self.texts))]

    def _runs_of(self, text: int) -> Iterator["Run"]:
        """Yields the parts of a text whose characters are in the same pieces."""
        string = self.texts[text]
        holders: list[list[int]] = [[] for _ in string]
        for i, piece in enumerate(self.pieces):
            if piece.text == text:
                for place in self._places(piece):
                    holders[place].append(i)
        largest = np.abs(self.attributions).max(initial=0.0) or 1.0
        begin = 0
        for end in range(1, len(string) + 1):
            if end == len(string) or holders[end] != holders[begin]:
                value = self.attributions[holders[begin]].sum()
                tokens = " ".join(self.pieces[i].token for i in holders[begin])
                yield Run(string[begin:end], tokens, value, value / largest)
                begin = end


class Run(NamedTuple):
    """Characters that are in the same pieces.

    Attributes:
        text: The characters.
        tokens: The pieces, joined by spaces; empty if there are none.
        value: The sum of their attributions.
        share: The same, relative to the largest attribution of a piece.
    """

    text: str
    tokens: str
    value: float
    share: float
