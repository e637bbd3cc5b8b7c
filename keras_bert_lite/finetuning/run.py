"""The course of a run: warm start, training, choice, and training on all rows."""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert_lite._files import (
    check_directory,
    folder_to_fill,
    to_json,
    write_text,
)
from keras_bert_lite._finite import NotFinite, check_finite_weights
from keras_bert_lite.finetuning.budget import Budget
from keras_bert_lite.finetuning.calibration import calibrate, fold
from keras_bert_lite.finetuning.plan import Plan, with_steps
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.report import REPORT, Judgement, Training
from keras_bert_lite.finetuning.rows import Split, sample, with_held_out
from keras_bert_lite.finetuning.selection import (
    Selection,
)
from keras_bert_lite.finetuning.trainer import StepTimes, Trainer
from keras_bert_lite.models.encoder_model import encoder_of
from keras_bert_lite.training.data.row_formats import Rows
from keras_bert_lite.training.divergence import Diverged
from keras_bert_lite.training.linear_model import Probe
from keras_bert_lite.training.resume.state import weights_digest
from keras_bert_lite.training.scores.intervals import intervals
from keras_bert_lite.training.scores.scorer import Scores

# A file, once training on the rows not held out has ended: empty, or why it diverged.
ENDED = "ended"
STATE = "state"  # what an interrupted run goes on from; removed in the end
PLAN = "plan.json"


def check_run_directory(directory: str | os.PathLike) -> None:
    """Refuses a directory where a run would overwrite what it did not write.

    Raises:
        ValueError: If it is a file.
        FileExistsError: If it holds a finished run, or other files.
    """
    check_directory(directory)
    folder, received = Path(directory), f"Received: {os.fspath(directory)!r}"
    if (folder / REPORT).exists():
        raise FileExistsError(
            "`directory` must not hold a finished run; delete it to train again. "
            f"{received}"
        )
    if not (folder / STATE / PLAN).is_file() and _holds_files(folder):
        raise FileExistsError(
            "`directory` must be new or empty, or hold a run that was interrupted. "
            f"{received}, which holds other files"
        )


def _holds_files(folder: Path) -> bool:
    """Whether a folder, or one in it, has a file that is not hidden."""
    paths = (x.relative_to(folder) for x in folder.rglob("*") if x.is_file())
    return any(not any(part.startswith(".") for part in x.parts) for x in paths)


@contextlib.contextmanager
def folder_of(directory: str | os.PathLike | None) -> Iterator[Path]:
    """Gives the directory of a run, or a temporary one."""
    if directory is not None:
        folder = Path(directory)
        with folder_to_fill(folder):
            yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


class Run:
    """Trains a model on the rows of a split and chooses by the held-out ones.

    Args:
        trainer: Trains the model.
        parts: The rows, of long texts at least what the model reads.
        folder: Where states are kept while it runs.
        minutes: See `Budget`.
        saves: Whether the model will be saved, which takes time too.
        verbose: As in `keras.Model.fit`.
    """

    def __init__(
        self,
        trainer: Trainer,
        parts: Split,
        folder: Path,
        minutes: float | None,
        saves: bool,
        verbose: Any,
    ) -> None:
        self.trainer, self.parts, self.verbose = trainer, parts, verbose
        self.state = folder / STATE
        self._temporary = not saves
        self.budget = Budget(minutes, RECIPE.export_seconds if saves else 0.0)
        self.refits = not parts.given and len(parts.train) < RECIPE.second_fit
        self._initial: list[np.ndarray] = []

    def train(self, plan: Plan, compared: Split | None) -> Training:
        """Trains the model; it has the weights that the held-out rows judge well.

        Args:
            plan: What training does.
            compared: The rows, in full, of simple models to compare with, if any.

        Raises:
            Diverged: If the loss is not finite and no earlier weights are of use.
        """
        asked = self._asked(plan)
        kept = self._kept_plan(asked)
        self._initial = self.trainer.snapshot()
        plan, times = (kept, None) if kept else self._timed(plan)
        self.parts = with_held_out(self.parts, plan.held_out)
        if times is not None:
            self._scores()  # traces it
        self.budget.begin()
        probes = self._started(plan)
        simple: dict[str, Scores] = {}
        if compared:
            train, held_out, _ = with_held_out(compared, plan.held_out)
            simple = self.trainer.spec.baselines(train, held_out)
        if not kept:
            plan = self._new_plan(plan, asked, times)
        selection, diverged = self._selected(plan)
        return Training(
            recipe=plan,
            baselines=simple,
            warm_start=probes,
            history=selection.history,
            best=selection.best["epoch"],
            diverged=diverged,
        )

    def judge(self) -> Judgement:
        """Calibrates, chooses thresholds and judges the held-out rows."""
        trainer, rows = self.trainer, self.parts.validation
        calibrations = calibrate(trainer.model, trainer.batches(rows))
        answered = trainer.answered(rows)
        scorer, labels = trainer.spec.scorer, trainer.spec.labels
        return Judgement(
            calibration=calibrations,
            options=answered.options,
            scores=answered.scores,
            intervals=intervals(scorer, answered.details),
            **scorer.mistakes(rows, answered.answers, labels),
        )

    def train_on_all(self, training: Training, judgement: Judgement) -> Training:
        """Trains on all rows, by the whole plan, and as the held-out ones decided.

        If this training diverges, the weights that were chosen stay.
        """
        if training.diverged or not self.refits:
            return training
        trainer, chosen = self.trainer, self.trainer.snapshot()
        try:
            self._fit_all(training)
            for output, calibration in judgement.calibration.items():
                fold(trainer.model, output, calibration.temperature)
            check_finite_weights(trainer.model)
        except NotFinite as error:
            trainer.reset(chosen)
            return dataclasses.replace(training, diverged=str(error))
        return dataclasses.replace(training, refitted=True)

    def _fit_all(self, training: Training) -> None:
        trainer, plan = self.trainer, training.recipe
        rows = self._all_rows
        trainer.reset(self._initial)
        some = sample(rows, plan.linear_rows, plan.seed)
        trainer.start_again(some, training.warm_start)
        if training.best:  # not the linear model
            trainer.soften()
            plan = dataclasses.replace(plan, evaluate_every=plan.steps)
            if self.verbose:
                print("Again, on all rows, those that were held out too:", flush=True)
            self._fit(rows, plan, self.state / "all", self.budget.deadlines())

    def _timed(self, plan: Plan) -> tuple[Plan, StepTimes | None]:
        """Times training steps, if the time is limited, and limits what is read."""
        if self.budget.minutes is None:
            return plan, None
        times = self.trainer.time_steps(self._read(self.parts.train), plan)
        held_out = self.budget.held_out(times.step, plan.batch_size)
        if not self.parts.given and held_out < len(self.parts.validation):
            plan = dataclasses.replace(plan, held_out=held_out)
        count = plan.held_out or len(self.parts.validation)
        self.budget.warn_if_below(self._least_seconds(plan, times, count))
        most = self.budget.linear_rows(times.step, plan.batch_size, count)
        return dataclasses.replace(plan, linear_rows=most), times

    def _least_seconds(self, plan: Plan, times: StepTimes, held_out: int) -> float:
        """Returns about how long the run takes, however little it trains."""
        fits = 2 if self.refits else 1
        rows = min(len(self.parts.train), RECIPE.linear_rows)
        # The rows of the linear model, then evaluations, as `_affordable` counts them.
        read = fits * (rows + RECIPE.evaluations_beside * held_out)
        reading = self.budget.reading(times.step, plan.batch_size, read)
        return times.first + fits * times.step + reading + self.budget.reserve

    def _started(self, plan: Plan) -> dict[str, Probe]:
        """Starts the heads from linear models of the rows that are not held out."""
        rows = sample(self.parts.train, plan.linear_rows, plan.seed)
        return self.trainer.start(rows, self.parts.validation)

    def _selected(self, plan: Plan) -> tuple[Selection, str]:
        """Trains all weights and keeps those that the held-out rows judge well.

        Returns:
            The selection, and why training diverged; empty if it did not.

        Raises:
            Diverged: If it did, and the start is not a trained one.
        """
        trainer, rows = self.trainer, self.parts.train
        spec, first = trainer.spec, self.state / "held_out"
        begins_with = spec.fine_tuning.first
        staged = begins_with is not None and len(begins_with(rows)) < len(rows)
        least = RECIPE.first_share * plan.steps / plan.evaluate_every
        selection = Selection(
            self._scores,
            spec.metric,
            len(self.parts.validation),
            first,
            self._keeps_linear(),
            int(least) if staged else 0,
            trainer.soften,
        )
        if not (first / ENDED).is_file():  # or an early stop would be undone
            deadlines = self.budget.deadlines(RECIPE.first_fit if self.refits else 1.0)
            diverged = ""
            try:
                self._fit(self._read(rows), plan, first, [selection, *deadlines])
            except Diverged as error:
                if not (trainer.starts_linear or selection.best["epoch"]):
                    self.tidy()
                    raise
                diverged = str(error)
            write_text(first / ENDED, diverged)
        selection.restore(trainer.model)
        return selection, (first / ENDED).read_text(encoding="utf-8")

    def _keeps_linear(self) -> bool:
        """Whether a linear model is kept unless fine-tuning is significantly better."""
        spec, count = self.trainer.spec, len(self.parts.train)
        if spec.pairs and count < RECIPE.keep_linear_pairs:
            return True
        compared = spec.apart and count < RECIPE.keep_linear_compared
        return compared and spec.task.alternatives

    def tidy(self) -> None:
        """Removes the states."""
        shutil.rmtree(self.state)

    def _asked(self, plan: Plan) -> dict[str, Any]:
        """Returns what must be the same for an interrupted run to go on."""
        trainer, spec = self.trainer, self.trainer.spec
        return {
            **dataclasses.asdict(plan),
            "task": spec.task.name,
            "columns": spec.columns,
            "labels": spec.labels,
            "class_weight": spec.class_weight,
            "pairs": "apart" if spec.apart else "together",
            "metric": spec.metric,
            "sequence_length": trainer.preprocessor.sequence_length,
            "prompts": trainer.preprocessor.prompts,
            "minutes": self.budget.minutes,
            "train": _digest(self.parts.train),
            "validation": _digest(self.parts.validation),
            "encoder": weights_digest(encoder_of(trainer.model)),
        }

    def _kept_plan(self, asked: dict[str, Any]) -> Plan | None:
        """Returns the plan of the interrupted run in the directory, if there is one.

        Raises:
            ValueError: If it was asked for something else.
        """
        path = self.state / PLAN
        if not path.is_file():
            return None
        kept = json.loads(path.read_text(encoding="utf-8"))
        known = kept["asked"]
        if other := [x for x in asked if asked[x] != known.get(x)]:
            ours, theirs = ({x: y.get(x) for x in other} for y in (asked, known))
            raise ValueError(
                "`directory` holds an interrupted run of other arguments; delete "
                f"it to start over. Received: {ours}, where it has {theirs}"
            )
        return Plan(**kept["recipe"])

    def _new_plan(
        self, plan: Plan, asked: dict[str, Any], times: StepTimes | None
    ) -> Plan:
        """Returns the plan with its number of steps, which a run keeps."""
        # The same steps serve to train on all rows in the end.
        rows = self._all_rows if self.refits else self._read(self.parts.train)
        per_epoch = self.trainer.steps_per_epoch(rows, plan.batch_size)
        plan = dataclasses.replace(plan, rows=len(rows))
        whole = with_steps(plan, per_epoch)
        if times is not None:
            whole = with_steps(plan, per_epoch, self._affordable(whole, times))
        kept = {"asked": asked, "recipe": dataclasses.asdict(whole)}
        write_text(self.state / PLAN, to_json(kept))
        return whole

    def _affordable(self, plan: Plan, times: StepTimes) -> int:
        """Returns how many steps there is time for; `plan` is the whole one."""
        began = time.monotonic()
        self._scores()
        evaluation = time.monotonic() - began
        fits = 2 if self.refits else 1
        # During training, at the start, and three times to calibrate and to choose;
        # a second fit is not traced again.
        overhead = times.first + RECIPE.evaluations_beside * evaluation * fits
        step = times.step * fits + evaluation / plan.evaluate_every
        return self.budget.steps(step, overhead)

    def _scores(self) -> Scores:
        return self.trainer.answered(self.parts.validation).scores

    def _fit(self, rows: Rows, plan: Plan, folder: Path, callbacks: list) -> None:
        self.trainer.fit(rows, plan, folder, callbacks, self.verbose, self._temporary)

    @property
    def _all_rows(self) -> Rows:
        return self._read([*self.parts.train, *self.parts.validation])

    def _read(self, rows: Rows) -> Rows:
        """Returns the rows as an epoch of training reads them."""
        return self.trainer.spec.format.training_rows(rows)


def _digest(rows: Rows) -> str:
    """Returns a digest of rows, to tell whether a run goes on with the same."""
    found = hashlib.sha256()
    for row in rows:
        found.update(json.dumps(row, sort_keys=True, default=str).encode())
    return found.hexdigest()[:16]
