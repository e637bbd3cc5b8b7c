"""Trains a model on rows: warm start, `fit`, exact resume."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from keras_bert_lite._tensorflow import tf
from keras_bert_lite.finetuning.calibration import soften
from keras_bert_lite.finetuning.plan import Plan
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.rows import in_stages
from keras_bert_lite.finetuning.spec import Spec
from keras_bert_lite.tasks.compile import compile
from keras_bert_lite.tasks.registry import objectives_of
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.tasks.warm_start import WarmStart
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.records import Records
from keras_bert_lite.training.data.row_formats import Rows
from keras_bert_lite.training.linear_model import Probe
from keras_bert_lite.training.optimizers import (
    OptimizerStart,
    bert_adamw,
    build_optimizer,
)
from keras_bert_lite.training.progress import progress_of
from keras_bert_lite.training.resume.state import fit_from_state
from keras_bert_lite.training.scores.scorer import Answers, Details, Scores

READ = 64  # rows encoded at once
TIMED = (0.1, 0.3, 0.5, 0.7, 0.9)  # which batches are timed, by length


class StepTimes(NamedTuple):
    """Seconds of the first training step, which is traced, and of the others."""

    first: float
    step: float


class Answered(NamedTuple):
    """Answers to rows: the thresholds chosen, the answers with them, the scores.

    `details` are what the scores were computed from.
    """

    options: dict[str, Any]
    answers: Answers
    details: Details
    scores: Scores


class _Clock(keras.callbacks.Callback):
    """Notes when training begins and when each step ends."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.ends = [time.monotonic()]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ends.append(time.monotonic())


@dataclasses.dataclass
class Trainer:
    """Trains a model on rows.

    Args:
        spec: The task, and what was decided about its rows.
        model: The model on ids.
        preprocessor: Makes its inputs.
    """

    spec: Spec
    model: keras.Model
    preprocessor: Preprocessor
    _compiled: Any = dataclasses.field(default=None, init=False, repr=False)
    _start: OptimizerStart = dataclasses.field(init=False, repr=False)

    def batches(self, rows: Rows, size: int = READ) -> tf.data.Dataset:
        """Returns all rows once, the short ones first.

        They were checked when they were read.
        """
        by_length = sorted(rows, key=self.spec.format.length)
        return self._dataset(by_length, batch_size=size, check=False)

    def steps_per_epoch(self, rows: Rows, batch_size: int) -> int:
        return len(self._dataset(rows, batch_size=batch_size))

    @property
    def starts_linear(self) -> bool:
        """Whether linear models of vectors can fill the heads (`warm_start`)."""
        return all(x and x.link for x in objectives_of(self.model).values())

    def start(self, rows: Rows, held_out: Rows) -> dict[str, Probe]:
        """Starts the heads from linear models of the rows' vectors."""
        if not self.starts_linear:
            return {}
        weighted = self._weighted(self.batches(rows))
        return self._warm_start(weighted, self.batches(held_out))

    def start_again(self, rows: Rows, probes: Mapping[str, Probe]) -> None:
        """Starts the heads from other rows, with the penalties of their probes."""
        if self.starts_linear:
            self._warm_start.again(self._weighted(self.batches(rows)), probes)

    def expected_losses(self, rows: Rows) -> np.ndarray:
        """Returns the losses of rows by linear models of others, of the sole output."""
        (losses,) = self._warm_start.expected_losses(self.batches(rows)).values()
        return losses

    def soften(self) -> None:
        """Makes a linear model unsure of labels, before all weights are trained.

        Where it is nearly right on all rows, training would have little to learn, and
        its weights are so large that each step would change the logits much.
        """
        if self.spec.fine_tuning.softened and not self.spec.apart:
            soften(self.model, RECIPE.softness)

    @functools.cached_property
    def _warm_start(self) -> WarmStart:
        return WarmStart(self.model)

    def compile(self, plan: Plan) -> None:
        """Compiles the model; for the same optimizer as before, starts it over."""
        options = (plan.steps, plan.learning_rate, plan.warmup)
        if (options, plan.layer_decay) == self._compiled:
            self._start.restore()
            return
        optimizer = bert_adamw(*options, layer_decay=plan.layer_decay)
        loss = self.spec.fine_tuning.loss
        compile(self.model, optimizer, loss=loss and loss())
        build_optimizer(self.model)
        self._start = OptimizerStart(self.model.optimizer)
        self._compiled = (options, plan.layer_decay)

    @functools.cached_property
    def string_model(self) -> TextModel:
        """The model that takes strings, with the same weights."""
        return self.spec.scored_model(self.model, self.preprocessor)

    def answered(self, rows: Rows) -> Answered:
        """Answers rows, with the thresholds that suit them best."""
        scorer, labels = self.spec.scorer, self.spec.labels
        answers = self.spec.answer(self.string_model, rows)
        options, answers = scorer.tuned(rows, answers, labels)
        details = scorer.details(rows, answers, labels)
        return Answered(options, answers, details, scorer.combine(details))

    def snapshot(self) -> list[np.ndarray]:
        """Returns the weights, and the states of the random number generators."""
        return [keras.ops.convert_to_numpy(x) for x in self.model.variables]

    def reset(self, snapshot: list[np.ndarray]) -> None:
        """Gives the model the values of a snapshot."""
        known = zip(self.model.variables, snapshot, strict=False)
        for variable, value in known:  # compiling adds variables behind them
            variable.assign(value)

    def time_steps(self, rows: Rows, plan: Plan) -> StepTimes:
        """Times training steps on short and long rows; keeps the weights."""
        before = self.snapshot()
        self.compile(plan)
        batches = self.batches(rows, plan.batch_size)
        count = self.steps_per_epoch(rows, plan.batch_size)
        chosen = np.unique((np.array(TIMED) * count).astype(int))
        timed = batches.enumerate().filter(lambda i, _: tf.reduce_any(i == chosen))
        clock = _Clock()
        timed = timed.map(lambda _, batch: batch).cache().repeat(2)
        timed = timed.apply(tf.data.experimental.assert_cardinality(2 * len(chosen)))
        self.model.fit(timed, callbacks=[clock], shuffle=False, verbose=0)
        self.reset(before)
        times = np.diff(clock.ends)
        return StepTimes(float(times[0]), float(np.mean(times[len(chosen) :])))

    def fit(
        self,
        rows: Rows,
        plan: Plan,
        directory: Path,
        callbacks: Sequence[keras.callbacks.Callback],
        verbose: Any,
        temporary: bool = False,
    ) -> None:
        """Trains, or goes on where an interrupted run stopped.

        Args:
            rows: The rows; those of the interrupted run, which is not checked here.
            plan: What training does.
            directory: Where the state is kept; `temporary`: only while it runs.
            callbacks: Callbacks of `fit`.
            verbose: As in `keras.Model.fit`.
        """
        self.compile(plan)
        settings = {"recipe": dataclasses.asdict(plan)}
        progress = progress_of(plan.steps, plan.evaluate_every, verbose)
        fit_from_state(
            self.model,
            lambda done: self._stream(rows, plan).skip(done),
            directory,
            settings,
            plan.steps,
            plan.evaluate_every,
            callbacks=[*callbacks, *progress],
            temporary=temporary,
            verbose=verbose,
        )

    def _stream(self, rows: Rows, plan: Plan) -> tf.data.Dataset:
        size, first = plan.batch_size, int(RECIPE.first_share * plan.epochs * plan.rows)
        # TensorFlow keeps this function for ever, so it must not hold the model.
        form = self.spec.fine_tuning
        order = functools.partial(in_stages, rows, form, size, plan.seed, first)
        source = Records(order)
        return self._weighted(self._dataset(source, batch_size=size, check=False))

    def _weighted(self, batches: tf.data.Dataset) -> tf.data.Dataset:
        """Gives each row the weight of its label."""
        if self.spec.class_weight is None:
            return batches
        weights = tf.constant(self.spec.class_weight)
        return batches.map(lambda x, y: (x, y, tf.gather(weights, y)))

    def _dataset(self, rows: Any, **batching: Any) -> tf.data.Dataset:
        return self.spec.data_set(rows, self.preprocessor, **batching)
