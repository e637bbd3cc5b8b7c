import time

import keras
import numpy as np
import pytest

from keras_bert_lite.finetuning.budget import Budget
from keras_bert_lite.finetuning.recipe import RECIPE


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
    budget = Budget(None, reserve=10)
    assert budget.deadline is None
    assert budget.deadlines() == []


def test_training_ends_at_its_share_of_what_is_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(minutes=1, reserve=10)
    budget.begin()
    now[0] = 120.0
    (deadline,) = budget.deadlines(0.5)  # at 135, of 150

    class Steps(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            now[0] += 4.0

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.zeros((20, 1), "float32")
    model.fit(x, x, batch_size=1, callbacks=[Steps(), deadline], verbose=0)
    assert now[0] == 136.0


def test_a_linear_model_reads_for_a_quarter_of_the_time():
    budget = Budget(minutes=1, reserve=10)
    # A hundred rows a second.
    assert budget.linear_rows(step=0.3, batch_size=10, held_out=200) == 1300
    assert (
        budget.linear_rows(step=30.0, batch_size=10, held_out=200) == RECIPE.linear_rows
    )


def test_the_least_time_is_said():
    budget = Budget(minutes=1, reserve=10)
    budget.warn_if_below(59.0)
    assert budget.reading(step=0.3, batch_size=10, rows=200) == pytest.approx(2.0)
    with pytest.warns(UserWarning, match="`minutes` must be 1.5 or more.*Received: 1$"):
        budget.warn_if_below(90.0)
