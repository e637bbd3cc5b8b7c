"""Scores during training, and the weights that had the best."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert_lite._files import replaced_file, to_json, write_text
from keras_bert_lite._finite import NotFinite, check_finite_weights
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.training.divergence import Diverged

HISTORY, START, TUNED = "history.json", "start.npz", "tuned.npz"


def standard_error(score: float, rows: int) -> float:
    """Returns the standard error of a share of rows, such as the accuracy.

    As if one more row were right and one more wrong: all of few rows prove little.
    """
    share = (min(max(score, 0.0), 1.0) * rows + 1) / (rows + 2)
    return math.sqrt(share * (1 - share) / rows)


def reaches(score: float, other: float, margin: float = 0.0) -> bool:
    """Whether a score is at least another one plus a margin.

    One that is not finite reaches nothing, and every other reaches it.
    """
    if not (math.isfinite(score) and math.isfinite(other)):
        return math.isfinite(score)
    return score >= other + margin


class Selection(keras.callbacks.Callback):
    """Scores the model after each epoch of `fit` and keeps the weights of one.

    That is the last whose score is within a standard error of the best: the rate falls
    to 0 in the end, which helps more than a few held-out rows can show.

    An interrupted run goes on with the scores and weights that it had.

    Args:
        score: Returns the scores of the model by name.
        metric: The score that decides.
        rows: How many rows are scored.
        directory: Where scores and weights are kept.
        trusted: Whether the start is kept unless training is better by a standard
            error; otherwise only if training is worse by one.
        least: Evaluations before which patience does not count.
        begin: Called before the first step, when the start has been scored.

    Raises:
        NotFinite: If the score of the start, or a weight, is not finite.
        Diverged: If that is so after an epoch.
    """

    def __init__(
        self,
        score: Callable[[], dict[str, float]],
        metric: str,
        rows: int,
        directory: Path,
        trusted: bool = False,
        least: int = 0,
        begin: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.score, self.metric, self.rows = score, metric, rows
        self.directory = directory
        self.trusted, self.least, self.begin = trusted, least, begin
        self.history: list[dict[str, Any]] = []

    def on_train_begin(self, logs: Any = None) -> None:
        self.history = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.history:
            return
        self.history = [x for x in self._kept() if x["epoch"] <= epoch]
        if not self.history:
            self._add(0)
        if self.begin is not None and int(self.model.optimizer.iterations) == 0:
            self.begin()  # not where an interrupted run goes on

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        scores = self._add(epoch + 1, logs)
        if logs is not None:
            logs.update({f"val_{name}": value for name, value in scores.items()})
        waited = epoch + 1 - max(self._tuned()["epoch"], self.least)
        if waited >= RECIPE.patience:
            self.model.stop_training = True

    def _kept(self) -> list[dict[str, Any]]:
        """Returns the scores of an interrupted run."""
        path = self.directory / HISTORY
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []

    @property
    def best(self) -> dict[str, Any]:
        """The evaluation whose weights are kept.

        The start, a linear model, is mostly kept only if it is better by more than a
        standard error: fine-tuning helps more than few rows can show.
        """
        start, (most, error) = self.history[0], self._most()
        margin = error if self.trusted else -error
        better = reaches(most, start[self.metric], margin)
        return self._tuned() if better else start

    def restore(self, model: keras.Model) -> None:
        """Gives a model the weights kept, also those of a run that had ended."""
        self.history = self._kept()
        name = TUNED if self.best["epoch"] else START
        with np.load(self.directory / name) as file:
            model.set_weights([file[x] for x in file.files])

    def _tuned(self) -> dict[str, Any]:
        """Returns the last evaluation, after the start, that is nearly the best."""
        most, error = self._most()
        nearly = [x for x in self._later if reaches(x[self.metric], most, -error)]
        return nearly[-1]

    def _most(self) -> tuple[float, float]:
        """Returns the best score after the start, and its standard error."""
        most = max(x[self.metric] for x in self._later)
        return most, standard_error(most, self.rows)

    @property
    def _later(self) -> list[dict[str, Any]]:
        return self.history[1:] or self.history

    def _add(self, epoch: int, logs: dict[str, Any] | None = None) -> dict[str, float]:
        scores = self._finite_scores(epoch)
        loss = {} if logs is None else {"loss": float(logs["loss"])}
        self.history.append({"epoch": epoch, **loss, **scores})
        if self._tuned()["epoch"] == epoch:
            name = TUNED if epoch else START
            with replaced_file(self.directory / name) as beside:
                np.savez(beside, *self.model.get_weights())
        write_text(self.directory / HISTORY, to_json(self.history, indent=1))
        return scores

    def _finite_scores(self, epoch: int) -> dict[str, float]:
        """Scores the model, if its weights are finite."""
        try:
            check_finite_weights(self.model)
            scores = self.score()
            if not math.isfinite(scores[self.metric]):
                found = f"a score of {scores[self.metric]}"
                raise NotFinite(f"{self.metric!r} must be finite", found)
        except NotFinite as error:
            if not epoch:
                raise
            raise Diverged(error.found, self.model.optimizer) from error
        return scores
