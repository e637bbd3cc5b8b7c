"""Which rules of the recipe a run follows, by its rows."""

import dataclasses
import types

import numpy as np
import pytest

from keras_bert_lite.finetuning import budget, run as module
from keras_bert_lite.finetuning.calibration import Calibration
from keras_bert_lite.finetuning.plan import Plan
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.report import Judgement, Training
from keras_bert_lite.finetuning.rows import Split, with_held_out
from keras_bert_lite.finetuning.run import Run
from keras_bert_lite.finetuning.trainer import Answered, StepTimes
from tests.finetuning import samples

PAIRS = {"text_pair": "second"}


def run(spec, rows, tmp_path):
    trainer = types.SimpleNamespace(spec=spec)
    return Run(trainer, Split(rows, rows, False), tmp_path, None, False, 0)


@pytest.mark.parametrize(
    ("task", "columns", "apart", "count", "kept"),
    [
        ("text_classification", PAIRS, False, 99, True),
        ("text_classification", PAIRS, False, 100, False),
        ("text_classification", PAIRS, True, 999, True),
        ("text_classification", PAIRS, True, 1000, False),
        ("text_classification", {}, False, 20, False),
        ("regression", PAIRS, True, 99, True),
        ("regression", PAIRS, True, 100, False),
        ("multi_label_classification", PAIRS, True, 100, False),
        ("multiple_choice", {}, False, 9, False),
        ("multiple_choice", {}, True, 999, True),
        ("multiple_choice", {}, True, 1000, False),
        ("token_classification", {}, False, 20, False),
    ],
)
def test_where_a_linear_model_is_kept(task, columns, apart, count, kept, tmp_path):
    spec = samples.spec(task, columns=columns, apart=apart)
    assert run(spec, samples.rows(task, count), tmp_path)._keeps_linear() == kept


def test_fewer_than_a_thousand_rows_are_trained_on_again(tmp_path):
    spec = samples.spec("text_classification")
    assert run(spec, samples.texts(999), tmp_path).refits
    assert not run(spec, samples.texts(1000), tmp_path).refits


PLAN = Plan(2, 4, 1e-3, None, 0, steps=12, evaluate_every=3)
TEXTS = samples.texts(12)
PARTS = Split(TEXTS[:9], TEXTS[9:], False)


class Trainer:
    """Notes what it is asked for, with which rows."""

    def __init__(self, scores=()):
        self.spec = samples.spec("text_classification", {"labels": ["bad", "good"]})
        self.model, self.calls, self.given = "model", [], iter(scores)

    def __getattr__(self, name):
        def noted(*given, **_):
            self.calls.append((name, given[0] if given else None))
            return given[0] if name == "batches" else {}

        return noted

    def answered(self, rows):
        self.calls.append(("answered", rows))
        answers = {"label": [x["label"] for x in rows], "scores": np.eye(2)[[0] * 3]}
        score = next(self.given, 1.0)
        details = self.spec.scorer.details(rows, answers, self.spec.labels)
        return Answered({}, answers, details, {"accuracy": score})

    def rows_of(self, name):
        return [rows for called, rows in self.calls if called == name]


@pytest.fixture
def noted(monkeypatch):
    """Notes calibrations and the temperatures that are folded into heads."""
    calls = []
    for name in ("calibrate", "fold"):
        monkeypatch.setattr(
            module, name, lambda *x, name=name: calls.append((name, *x)) or {}
        )
    monkeypatch.setattr(module, "check_finite_weights", lambda model: None)
    return calls


def trained(**changes):
    given = {"recipe": PLAN, "baselines": {}, "warm_start": {}}
    given |= {"history": [], "best": 2, "diverged": "", **changes}
    return Training(**given)


JUDGED = Judgement(
    calibration={"logits": Calibration(2.0, 0.2, 0.1)},
    options={},
    scores={},
    intervals={},
    confused=[],
    worst=[],
)


def test_held_out_rows_calibrate_and_are_judged(tmp_path, noted):
    trainer = Trainer()
    found = Run(trainer, PARTS, tmp_path, None, False, 0).judge()
    assert noted == [("calibrate", "model", PARTS.validation)]
    assert trainer.rows_of("answered") == [PARTS.validation]
    assert found.scores == {"accuracy": 1.0}


def test_the_second_fit_is_on_all_rows_as_the_first_one_was(tmp_path, noted):
    trainer = Trainer()
    run = Run(trainer, PARTS, tmp_path, None, False, 0)
    found = run.train_on_all(trained(), JUDGED)
    assert found.refitted
    assert trainer.rows_of("start_again") == trainer.rows_of("fit") == [TEXTS]
    assert len(trainer.rows_of("soften")) == 1
    assert noted == [("fold", "model", "logits", 2.0)]


def test_both_fits_read_long_lists_in_parts(tmp_path, noted, monkeypatch):
    rows = [
        {"query": x, "candidates": [*"abcdefghijkl"], "grades": [1] + [0] * 11}
        for x in "wxyz"
    ]
    trainer = Trainer()
    trainer.spec = samples.spec("ranking")
    trainer.time_steps = lambda rows, plan: trainer.fit(rows) or StepTimes(0.0, 1.0)
    run = Run(trainer, Split(rows[:3], rows[3:], False), tmp_path, 1, False, 0)
    run._timed(PLAN)
    run.train_on_all(trained(), JUDGED)
    (tmp_path / module.STATE / "held_out").mkdir(parents=True)
    trainer.steps_per_epoch = lambda rows, size: len(rows)
    assert run._new_plan(PLAN, {}, None).rows == 8
    chosen = types.SimpleNamespace(restore=lambda model: None)
    monkeypatch.setattr(module, "Selection", lambda *_: chosen)
    run._selected(PLAN)
    timed, again, first = trainer.rows_of("fit")
    assert [len(x) for x in (timed, again, first)] == [6, 8, 6]
    assert {len(x["candidates"]) for x in (*timed, *again, *first)} <= {6, 7}


@pytest.mark.parametrize(
    ("step", "given", "held_out"),
    [(1e-4, False, None), (9.0, False, 2), (9.0, True, None)],
)
def test_fewer_rows_are_held_out_if_reading_them_takes_long(
    step, given, held_out, tmp_path, monkeypatch
):
    few = dataclasses.replace(RECIPE, held_out_in_time=2)
    monkeypatch.setattr(budget, "RECIPE", few)
    trainer = Trainer()
    trainer.time_steps = lambda rows, plan: StepTimes(0.0, step)
    run = Run(trainer, Split(*PARTS[:2], given), tmp_path, 1, False, 0)
    plan, times = run._timed(PLAN)
    assert plan.held_out == held_out
    assert times == StepTimes(0.0, step)


def test_what_is_not_held_out_is_trained_on():
    parts = with_held_out(PARTS, 2)
    assert parts == Split([*TEXTS[:9], TEXTS[11]], TEXTS[9:11], False)
    assert with_held_out(PARTS, None) is PARTS


def test_a_linear_model_that_was_kept_is_fitted_again_and_not_trained(tmp_path, noted):
    trainer = Trainer()
    Run(trainer, PARTS, tmp_path, None, False, 0).train_on_all(trained(best=0), JUDGED)
    assert trainer.rows_of("start_again") == [TEXTS]
    assert trainer.rows_of("fit") == trainer.rows_of("soften") == []
    assert noted == [("fold", "model", "logits", 2.0)]


def test_given_rows_are_not_trained_on(tmp_path):
    trainer = Trainer()
    parts = Split(*PARTS[:2], True)
    run = Run(trainer, parts, tmp_path, None, False, 0)
    assert run.train_on_all(trained(), JUDGED) == trained()
    assert trainer.calls == []
