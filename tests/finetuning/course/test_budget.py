import time

from keras_bert_lite.finetuning.course.budget import Budget


def test_steps_that_fit_into_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(minutes=1, reserve=10)
    budget.begin()
    assert budget.deadline == 150
    assert budget.steps(step=0.5, overhead=10) == 80
    now[0] = 145.0
    assert budget.steps(step=0.5, overhead=10) == 1  # never none


def test_no_limit():
    assert Budget(None, reserve=10).deadline is None
