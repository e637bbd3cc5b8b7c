import dataclasses

import pytest

from keras_bert_lite.finetuning.plan import Plan, epochs_for, rate_for, with_steps

PLAN = Plan(epochs=2, batch_size=32, learning_rate=1e-4, layer_decay=None, seed=0)


def test_fewer_rows_more_epochs():
    counts = [epochs_for(rows) for rows in (64, 500, 2000, 6000, 100_000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1
    assert epochs_for(500, 2) == 2 * epochs_for(500)


def test_wider_encoders_learn_more_slowly():
    assert rate_for(384) == pytest.approx(1e-4)
    assert rate_for(256) > rate_for(384) > rate_for(768) >= rate_for(1024) >= 1e-5


@pytest.mark.parametrize(
    ("per_epoch", "most"), [(1, None), (7, None), (188, 60), (188, 1)]
)
def test_steps_are_a_multiple_of_the_evaluations(per_epoch, most):
    found = with_steps(PLAN, per_epoch, most)
    assert found.steps % found.evaluate_every == 0
    assert 1 <= found.steps <= 1.25 * min(2 * per_epoch, most or 10**9)
    assert found.epochs == pytest.approx(found.steps / per_epoch, abs=0.01)


@pytest.mark.parametrize(("epochs", "evaluations"), [(1, 2), (2, 4), (20, 8)])
def test_two_evaluations_an_epoch_but_few_in_all(epochs, evaluations):
    plan = with_steps(dataclasses.replace(PLAN, epochs=epochs), 100)
    assert plan.steps / plan.evaluate_every == evaluations
