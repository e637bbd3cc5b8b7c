"""A training that diverges ends, with the learning rate in the message."""

import contextlib

import keras
import numpy as np
import pytest

from keras_bert_lite.training.divergence import Diverged, StopAtDivergence, peak_rate
from keras_bert_lite.training.optimizers import bert_adamw


@pytest.mark.parametrize(
    ("optimizer", "rate"),
    [
        (keras.optimizers.SGD(0.25), 0.25),
        (bert_adamw(steps=4, learning_rate=0.5), 0.5),
        (keras.optimizers.LossScaleOptimizer(bert_adamw(4, 0.5)), 0.5),
    ],
)
def test_the_rate_is_the_one_that_was_given(optimizer, rate):
    assert peak_rate(optimizer) == rate


def test_other_schedules_are_named_by_their_options():
    schedule = keras.optimizers.schedules.CosineDecay(0.5, 10)
    assert peak_rate(keras.optimizers.SGD(schedule))["initial_learning_rate"] == 0.5


@pytest.mark.parametrize(
    ("losses", "ended"),
    [
        ([1.0, np.nan, np.nan], 2),  # read when the next step has ended
        ([1.0, np.inf, 1.0], 2),
        ([1.0, 1.0, np.nan], "epoch"),
        ([1.0, 2.0, 3.0], None),
    ],
)
def test_which_step_ends_it(losses, ended):
    stop = StopAtDivergence()
    stop.set_model(keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]))
    stop.model.compile(keras.optimizers.SGD(7.5), "mse")
    stop.on_epoch_begin(0)
    ends = pytest.raises(Diverged, match=r"`learning_rate` must.*Received: 7\.5$")
    for place, loss in enumerate(losses):
        with ends if place == ended else contextlib.nullcontext():
            stop.on_train_batch_end(place, {"loss": loss})
        if place == ended:
            return
    with ends if ended == "epoch" else contextlib.nullcontext():
        stop.on_epoch_end(0, {"loss": losses[-1]})
